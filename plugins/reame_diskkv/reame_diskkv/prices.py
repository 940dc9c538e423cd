"""What a token costs: computed, and read from disk. Both are measured where they happen."""

from __future__ import annotations

LEAST_COMPUTED = 16
"""Prompts of fewer computed tokens say nothing about the price of long ones."""
_FORGETTING = 1.02
_WEIGHT = 0.3
_RARELY = 16


class Prices:
    """Milliseconds; None before anything was measured. For the engine thread."""

    def __init__(self) -> None:
        self.compute_ms: float | None = None
        """Of one prompt token. The cheapest that was seen, forgotten slowly: company only makes it dearer."""
        self.read_ms: float | None = None
        """Of one byte of cells, from the file to memory; a running mean."""
        self._refused = 0

    def computed(self, tokens: int, milliseconds: float) -> None:
        """So many prompt tokens were computed in this time."""
        if tokens < LEAST_COMPUTED or milliseconds <= 0:
            return
        price = milliseconds / tokens
        before = self.compute_ms
        self.compute_ms = price if before is None else min(price, before * _FORGETTING)

    def read(self, size: int, milliseconds: float) -> None:
        """So many bytes of cells were restored in this time."""
        if size <= 0 or milliseconds < 0:
            return
        price = milliseconds / size
        self.read_ms = price if self.read_ms is None else self.read_ms + _WEIGHT * (price - self.read_ms)

    def pays(self, tokens: int, size: int) -> bool:
        """Whether reading ``size`` bytes is cheaper than computing ``tokens``; yes as long as nobody knows."""
        if self.compute_ms is None or self.read_ms is None:
            return True
        return size * self.read_ms < tokens * self.compute_ms

    def try_anyway(self) -> bool:
        """Called where reading does not pay: now and then it is tried, to see whether that is still so."""
        self._refused += 1
        return self._refused % _RARELY == 0
