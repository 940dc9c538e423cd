"""Several contestants in turns, and the medians and ratios of what they say."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from bench.quiet import Quiet

Name = TypeVar("Name", bound=Hashable)
T = TypeVar("T")


def rounds(count: int, contestants: Mapping[Name, Callable[[], T]], quiet: Quiet) -> dict[Name, list[T]]:
    """The answers of each contestant, one a round. The order rotates, so that none always comes first after
    whatever the last one left behind."""
    answers: dict[Name, list[T]] = {name: [] for name in contestants}
    for name in _rotating(list(contestants), count):
        answers[name].append(quiet.run(contestants[name]))
    return answers


def _rotating(names: Sequence[Name], count: int) -> Iterator[Name]:
    for turn in range(count):
        start = turn % len(names)
        yield from (*names[start:], *names[:start])


def median(values: Sequence[float]) -> float:
    return float(np.median(values))


def percentile(values: Sequence[float], percent: float) -> float:
    """Of the values themselves: none is invented between two of them."""
    return float(np.percentile(values, percent, method="higher"))


def ratios(numerators: Sequence[float], denominators: Sequence[float]) -> list[float]:
    """Round by round, so that what slows a whole round down cancels out."""
    return [a / b for a, b in zip(numerators, denominators, strict=True)]
