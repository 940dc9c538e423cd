"""Which cells of the KV memory each sequence has: counted exactly although sequences share prefixes, and known
by place, because attention adds cells up in the order in which they lie.

llama.cpp does not tell where it puts a row, but its rule is simple: the lowest free cell (its search starts at
a head that every removal pulls back, so nothing below the head is ever free). The ledger follows that rule.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int32]


class CellLedger:
    """Reference counts of ``capacity`` cells."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.free = capacity
        self._references = np.zeros(capacity, np.int32)

    @property
    def used(self) -> int:
        return self.capacity - self.free

    @property
    def lowest_free(self) -> int:
        """Where the next row goes; ``capacity`` when nothing is free."""
        return int((self._references == 0).argmax()) if self.free else self.capacity

    def place(self, count: int) -> Cells:
        """(count,) the cells that the next ``count`` rows take, ascending."""
        if count > self.free:
            raise AssertionError(f"{count} cells wanted, {self.free} are free")
        cells = np.flatnonzero(self._references == 0)[:count].astype(np.int32)
        self._references[cells] = 1
        self.free -= count
        return cells

    def share(self, cells: Cells) -> None:
        """One more holder of ``cells``."""
        self._references[cells] += 1

    def release(self, cells: Cells) -> None:
        """One holder less."""
        self._references[cells] -= 1
        self.free += int((self._references[cells] == 0).sum())

    def sole(self, cells: Cells) -> Cells:
        """Those of ``cells`` that have one holder only."""
        alone: Cells = cells[self._references[cells] == 1]
        return alone

    def reset(self) -> None:
        """Nobody holds anything."""
        self._references[:] = 0
        self.free = self.capacity
