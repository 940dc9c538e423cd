"""Small helpers for messages that have to stay one readable line whatever they quote."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_QUOTE = 300


def printable(text: object) -> str:
    """``text`` on one line: control characters, line breaks and half characters are escaped, and the middle
    of what is very long is left out."""
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in str(text)
    )
    if len(shown) <= _LONGEST_QUOTE:
        return shown
    half = _LONGEST_QUOTE // 2
    return f"{shown[:half]}…{shown[-half:]}"


def nearest(word: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """The entries of ``known`` that ``word`` was probably meant to be, best first; case and blanks at the
    ends do not count."""
    folded: dict[str, str] = {}
    for entry in known:
        folded.setdefault(entry.casefold().strip(), entry)
    close = difflib.get_close_matches(word.casefold().strip(), folded, n=most, cutoff=0.5)
    return [folded[entry] for entry in close]


def alternatives(words: list[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    shown = [printable(word) for word in words]
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} or {shown[-1]}"
