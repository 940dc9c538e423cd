"""How plugins are named and how a wrong name is answered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


def normalise(name: str) -> str:
    """One spelling for ``Disk_KV``, ``disk-kv`` and ``disk.kv``, as package indexes do it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` was probably meant to be."""
    by_spelling = {normalise(each): each for each in known}
    close = get_close_matches(normalise(name), by_spelling, n=1)
    return by_spelling[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error message: ``; did you mean 'diskkv'?``, or nothing."""
    guess = nearest(name, known)
    return f"; did you mean {guess!r}?" if guess else ""


def listing(names: Iterable[str]) -> str:
    """Names for people, ``none`` where there is none."""
    return ", ".join(names) or "none"
