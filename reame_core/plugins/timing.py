"""How long the calls of one hook take. Added to by the thread that calls, read by any: each number is whole,
together they may be a call apart."""

from __future__ import annotations

from itertools import accumulate

_OCTAVES = 64
"""Of nanoseconds: more than any call lasts."""


class Timing:
    """Calls by their duration, in steps of a quarter octave, so that a quantile is at most an eighth off."""

    __slots__ = ("calls", "longest", "nanoseconds", "steps")

    def __init__(self) -> None:
        self.calls = 0
        self.nanoseconds = 0
        self.longest = 0
        self.steps = [0] * (4 * _OCTAVES)
        """Calls by octave and quarter."""

    def add(self, nanoseconds: int) -> None:
        """One call. On the way of every token: as little as possible."""
        self.calls += 1
        self.nanoseconds += nanoseconds
        if nanoseconds > self.longest:
            self.longest = nanoseconds
        octave = nanoseconds.bit_length()
        self.steps[octave << 2 | nanoseconds << 3 >> octave & 3] += 1

    @property
    def mean(self) -> float:
        """Nanoseconds; 0 before the first call."""
        return self.nanoseconds / self.calls if self.calls else 0.0

    def quantile(self, share: float) -> float:
        """Nanoseconds that this ``share`` of the calls, 0 to 1, does not exceed, but for the width of a step; 0
        before the first call."""
        counts = list(self.steps)
        wanted = min(sum(counts) - 1, int(sum(counts) * share))
        for step, seen in enumerate(accumulate(counts)):
            if seen > wanted:
                return min(float(self.longest), _middle(step))
        return 0.0


def _middle(step: int) -> float:
    """Of the durations that are counted in ``step``."""
    octave, quarter = divmod(step, 4)
    least = 2.0**octave / 2
    return least * (1 + (quarter + 0.5) / 4)
