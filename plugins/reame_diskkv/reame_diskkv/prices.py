"""What a token costs: computed, read from disk, fetched from a far tier. All are measured where they happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reame_diskkv.tiers import FarBlock

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


_GUESSED_MS_PER_BYTE = 1e-5
"""Of a far tier that nothing was fetched from yet, to know how long to wait for it: 100 MB/s."""


class FarPrices:
    """What a far tier costs; None before anything was measured. The threads that fetch write it, the engine's
    reads it. ``near`` gives the price of computing."""

    def __init__(self, near: Callable[[], Prices]) -> None:
        self._near = near
        self.ask_ms: float | None = None
        """To hear what there is of a prompt."""
        self.fetch_ms: float | None = None
        """Of one byte of a block's file, from the far tier to verified cells."""
        self.restore_ms = 0.0
        """Of one byte of such cells, into memory."""
        self._token_bytes = 0.0
        """Of cells."""
        self._refused = 0

    def asked(self, milliseconds: float) -> None:
        """So long it took to hear what there is."""
        self.ask_ms = _mean(self.ask_ms, milliseconds)

    def took(self, size: int, milliseconds: float) -> None:
        """A file of so many bytes was fetched and opened in this time, or not even in this."""
        if size > 0:
            self.fetch_ms = _mean(self.fetch_ms, milliseconds / size)

    def restored(self, size: int, milliseconds: float) -> None:
        """So many bytes of cells that were fetched were put into memory in this time."""
        self.restore_ms = _mean(self.restore_ms or None, milliseconds / size)

    def cells(self, token_bytes: float) -> None:
        """So many bytes of cells belong to a token."""
        self._token_bytes = token_bytes

    def worth_asking(self, tokens: int, patience_s: float) -> bool:
        """Whether to ask for so many tokens and wait so long for what is said; now and then where it is not, to
        see whether that is still so."""
        if self.ask_ms is None:
            return True
        computed = self._near().compute_ms
        pays = computed is None or self.ask_ms < tokens * computed
        return (pays and self.ask_ms < 1000 * patience_s) or self._try_anyway()

    def worthwhile(self, found: Sequence[FarBlock], before: int, limit: int) -> list[FarBlock]:
        """What of a chain comes faster than computing it would be, behind ``before`` tokens and up to
        position ``limit``."""
        chain = list(found)
        if len(chain) > 1 and not self._pays(min(chain[-1].end, limit) - chain[-1].link.start, chain[-1:]):
            chain.pop()
        if not chain or min(chain[-1].end, limit) <= before:
            return []
        if self._pays(min(chain[-1].end, limit) - before, chain) or self._try_anyway():
            return chain
        return []

    def patience_s(self, size: int) -> float:
        """How long to wait for a file of so many bytes: twice what is to be expected."""
        price = _GUESSED_MS_PER_BYTE if self.fetch_ms is None else self.fetch_ms
        return 2 * size * price / 1000

    def _pays(self, tokens: int, chain: Sequence[FarBlock]) -> bool:
        near = self._near()
        if near.compute_ms is None or self.fetch_ms is None:
            return True
        cells = (chain[-1].end - chain[0].link.start) * self._token_bytes
        fetching = sum(block.size for block in chain) * self.fetch_ms
        return fetching + cells * self.restore_ms < tokens * near.compute_ms

    def _try_anyway(self) -> bool:
        self._refused += 1
        return self._refused % _RARELY == 0


def _mean(before: float | None, value: float) -> float:
    return value if before is None else before + _WEIGHT * (value - before)
