"""What the rows of a batch attend to, and what that costs, apart from the rows themselves.

A row reads every cell that its sequence had before the batch. On CPUs llama.cpp has two kernels for that: small
batches are computed row by row, larger ones in tiles of rows, at a fraction of the price of a row and a cell.
But a tile is computed as a whole, for all cells that any of its rows attends to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from reame_core.engine.noise import LAST_SMALL_BATCH

TILE = LAST_SMALL_BATCH + 1
"""Rows of a tile, and of the smallest batch that is computed in tiles. Nothing is decided by it alone: what a
pair of row and cell costs in batches of fewer rows and of more is measured, and where that is the same the
boundary makes no difference."""

_FIRST, _TOLD, _MOST = 4e3**2, 2e4**2, 5e4**2
"""Evidence, in squares of pairs: as much as the belief that attention costs nothing is worth, as a measurement
that was told, and at most, so that the newest batches always count."""
_NEXT_TO_NOTHING = 1e4
"""Evidence that is left alone: that of one token after the other."""
_STEP = 0.3
"""Of the way to what one batch says, at most: it may have been disturbed."""


@dataclass(frozen=True, slots=True)
class Attended:
    """Pairs of a row and a cell in memory before the batch: so many that matter, and so many that are computed
    where it is done in tiles."""

    by_row: float = 0.0
    by_tile: float = 0.0

    def __add__(self, other: Attended) -> Attended:
        return Attended(self.by_row + other.by_row, self.by_tile + other.by_tile)

    def pairs(self, rows: float) -> float:
        """Computed in a batch of ``rows``."""
        return self.by_row if rows < TILE else self.by_tile


NOTHING = Attended()


def attended(parts: Iterable[tuple[int, int]]) -> Attended:
    """By a batch of ``parts``: (rows, cells that their sequence has before the batch)."""
    by_row = by_tile = 0
    for rows, context in parts:
        by_row += rows * context
        by_tile += -(-rows // TILE) * TILE * context
    return Attended(by_row, by_tile)


@dataclass(slots=True)
class PairPrice:
    """Milliseconds of a pair in one of the two kernels, learned from how batches of about the same number of
    rows differ behind more and less. 0 until something is known."""

    learned: float = 0.0
    """Below 0 where noise says so."""
    evidence: float = field(default=_FIRST)

    @property
    def milliseconds(self) -> float:
        return max(0.0, self.learned)

    def tell(self, milliseconds: float) -> None:
        """It was measured on purpose, or by an earlier engine."""
        self.learned, self.evidence = milliseconds, _TOLD

    def observe(self, pairs: float, milliseconds: float) -> bool:
        """A batch had so many ``pairs`` more than the others of its size, and took so many ``milliseconds``
        more; either may be negative. Whether anything was learned from it."""
        weight = pairs * pairs
        if weight < _NEXT_TO_NOTHING:
            return False
        self.evidence = min(self.evidence + weight, _MOST)
        self.learned += min(_STEP, weight / self.evidence) * (milliseconds / pairs - self.learned)
        return True

    def copy(self) -> PairPrice:
        """The same belief."""
        return PairPrice(self.learned, self.evidence)
