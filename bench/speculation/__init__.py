"""Measurements of speculation: one module each, with ``measure(stage, result)`` and what it compares in its
docstring. Every ratio is one of neighbours in time, on the same text."""

NAMES = ("repeat", "exact", "edited", "rewrite", "tickets", "creative", "users", "draft", "dear")
