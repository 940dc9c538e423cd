"""Measurements of the disk cache: one module each, with ``measure(case, result)`` and what it compares in its
docstring."""

NAMES = ("first_token", "blocks", "writer", "sharing")
