"""Who holds how many cells of the KV memory, counted exactly although sequences share prefixes.

The numbers given out here are not llama.cpp's cell indices (it keeps those to itself): they only make
sharing countable. Two sequences share a cell here exactly when they share one there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class CellLedger:
    """Reference counts of ``capacity`` cells, for sequences that only ever share prefixes."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.free = capacity
        self._references = np.zeros(capacity, np.int32)
        self._free_stack = np.arange(capacity - 1, -1, -1, dtype=np.int32)

    @property
    def used(self) -> int:
        return self.capacity - self.free

    def take(self, holding: NDArray[np.int32], length: int, count: int) -> None:
        """Give ``count`` more cells to a holder of ``length``; ``holding`` (capacity of holder,) lists them."""
        if count > self.free:
            raise AssertionError(f"{count} cells wanted, {self.free} are free")
        cells = self._free_stack[self.free - count : self.free][::-1]
        holding[length : length + count] = cells
        self._references[cells] = 1
        self.free -= count

    def share(self, source: NDArray[np.int32], target: NDArray[np.int32], length: int) -> None:
        """Let ``target``, which holds nothing, hold the first ``length`` cells of ``source`` too."""
        target[:length] = source[:length]
        self._references[source[:length]] += 1

    def give_back(self, holding: NDArray[np.int32], start: int, end: int) -> int:
        """Let go of the cells at positions [start, end); the number that nobody holds any more."""
        cells = holding[start:end]
        self._references[cells] -= 1
        freed = cells[self._references[cells] == 0]
        self._free_stack[self.free : self.free + len(freed)] = freed
        self.free += len(freed)
        return len(freed)

    def sole(self, holding: NDArray[np.int32], length: int) -> int:
        """How many of a holder's ``length`` cells nobody else holds."""
        return int((self._references[holding[:length]] == 1).sum())

    def reset(self) -> None:
        """Nobody holds anything."""
        self._references[:] = 0
        self._free_stack = np.arange(self.capacity - 1, -1, -1, dtype=np.int32)
        self.free = self.capacity
