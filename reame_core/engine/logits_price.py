"""What logits cost, apart from the rows that want them.

The rows of a prompt want none, but for the last: they skip the largest matrix of the model, the one with a line
for each token of the vocabulary. On one machine 64 rows of a 1.5B model took 763 ms with logits for each and
605 ms with one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping


class LogitsPrice:
    """Milliseconds that a batch takes longer where more than one row wants logits, from ``measured``: by how
    many do. On straight lines between these, and in proportion beyond the most; 0 where nothing was measured.
    Immutable."""

    def __init__(self, measured: Mapping[float, float] | None = None) -> None:
        self._counts, self._milliseconds = [1.0], [0.0]
        for count, milliseconds in sorted((measured or {}).items()):
            if count > 1 and 0 <= milliseconds < math.inf:
                # More logits are never cheaper: one measurement was disturbed.
                self._counts.append(count)
                self._milliseconds.append(max(milliseconds, self._milliseconds[-1]))

    @property
    def measured(self) -> dict[float, float]:
        """Enough to make the same again."""
        return dict(zip(self._counts[1:], self._milliseconds[1:], strict=True))

    def of(self, count: float) -> float:
        """Milliseconds for the logits of ``count`` rows beyond those for one."""
        right = bisect_left(self._counts, count)
        if right == 0:
            return 0.0
        if right == len(self._counts):
            return self._milliseconds[-1] * count / self._counts[-1]
        low, high = self._counts[right - 1], self._counts[right]
        before, behind = self._milliseconds[right - 1], self._milliseconds[right]
        return before + (count - low) / (high - low) * (behind - before)

    def saved(self, rows: float, silent: float) -> float:
        """Milliseconds that a batch of ``rows`` takes less because ``silent`` of them want no logits."""
        return self.of(rows) - self.of(rows - silent) if silent > 0 else 0.0
