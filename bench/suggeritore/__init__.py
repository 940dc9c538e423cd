"""Measurements of drafts from structure: one module each, with ``measure(stage, result)`` and what it compares
in its docstring. Nothing that is asked was answered before."""

NAMES = ("lists", "tables", "objects", "prose", "flat")
