"""Texts of others in our messages."""

from __future__ import annotations

_LONGEST = 200


def one_line(text: object) -> str:
    """``text`` as a readable part of one line, its end left out where it is long."""
    shown = " ".join("".join(char if char.isprintable() else " " for char in str(text)).split())
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
