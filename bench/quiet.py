"""Runs that other processes do not disturb, as far as patience reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from bench.host import CpuWatch

TOLERATED = 0.04
"""Share of the machine that others may use during a run."""
T = TypeVar("T")


class Quiet:
    """Repeats a disturbed run up to ``attempts`` times in all and keeps the least disturbed one."""

    def __init__(self, attempts: int) -> None:
        self._attempts = attempts
        self.runs = 0
        self.worst = 0.0
        """Of the runs that were kept, the share that others used."""

    def run(self, function: Callable[[], T]) -> T:
        """What ``function`` gives when left alone, or at its best attempt."""
        watch = CpuWatch()
        kept, least = function(), watch.others_share()
        for _ in range(1, self._attempts):
            if least <= TOLERATED:
                break
            watch = CpuWatch()
            value = function()
            share = watch.others_share()
            if share < least:
                kept, least = value, share
        self.runs += 1
        self.worst = max(self.worst, least)
        return kept
