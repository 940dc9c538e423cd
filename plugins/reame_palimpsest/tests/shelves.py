"""Shelves on one folder, as several processes hold them, on a clock that stands still."""

from __future__ import annotations

from pathlib import Path

from reame_palimpsest.contexts import GRAM
from reame_palimpsest.generations import Generation
from reame_palimpsest.limits import Limits
from reame_palimpsest.shelf import Shelf

from plugins.reame_palimpsest.tests.support import TOKENIZER

DAY = 86_400
NOW = 1_000 * DAY


class Clock:
    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def shelf(
    folder: Path, clock: Clock | None = None, *, ttl_days: float | None = None, size_mb: float = 64
) -> Shelf:
    """A shelf that has looked into ``folder`` and tidied it."""
    opened = untidy(folder, clock, ttl_days=ttl_days, size_mb=size_mb)
    opened.tidy()
    return opened


def untidy(
    folder: Path, clock: Clock | None = None, *, ttl_days: float | None = None, size_mb: float = 64
) -> Shelf:
    """A shelf that has looked into ``folder``."""
    opened = Shelf(folder, TOKENIZER, Limits.of(size_mb, ttl_days), clock or Clock())
    opened.refresh()
    return opened


def small(folder: Path, clock: Clock | None = None, **options: float) -> Shelf:
    """A shelf that seals about every thousand tokens."""
    return shelf(folder, clock, size_mb=0.05, **options)


def has(opened: Shelf, each: Generation) -> bool:
    """Whether ``each`` is found by its prompt and, from any place of its answer on, by what stands before."""
    view = opened.view
    by_prompt = view.answer(each.prompt_key, 5, each.answer[:0])
    if by_prompt is None or by_prompt.tokens[by_prompt.position :].tolist() != each.answer.tolist():
        return False
    for position in range(max(GRAM, each.answer_start), len(each.tokens), 5):
        place = view.search(each.tokens[:position], GRAM)
        if place is None or place.tokens[place.position] != each.tokens[position]:
            return False
    return True


def kinds(folder: Path) -> dict[str, int]:
    """How many files there are of each kind."""
    counts = {".seg": 0, ".log": 0}
    for path in folder.iterdir():
        if path.name != "lock":
            counts[path.suffix] = counts.get(path.suffix, 0) + 1
    return counts
