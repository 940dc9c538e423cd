"""Measurements of structured output: one module each, with ``measure(stage, result)`` and what it compares in
its docstring."""

NAMES = ("invoices", "masks", "free")
