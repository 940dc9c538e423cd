"""Machines to simulate: what a batch costs on them. For ``FakeClock``, and so for engines on the fake
backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class CostModel:
    """Milliseconds of a batch by its rows, between and beyond the measured points along straight lines. Call it
    with a number of rows."""

    points: Mapping[int, float]
    _rows: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.points or min(self.points) < 1:
            raise ValueError("a cost model needs the cost of at least one number of rows, from 1")
        object.__setattr__(self, "_rows", sorted(self.points))

    def __call__(self, rows: int) -> float:
        known = [self.points[count] for count in self._rows]
        last = self._rows[-1]
        if rows > last:
            return known[-1] * rows / last
        return float(np.interp(rows, self._rows, known))


_TILE = 64


@dataclass(frozen=True)
class AttentionModel:
    """Milliseconds of attention in a batch, as llama.cpp does it on CPUs. In fewer than 64 rows each row costs
    ``row`` for each cell that it attends to. More rows are computed in tiles of 64, and each of the 64 costs
    ``tile`` for each cell that any of them attends to. Call it with the parts of a batch: (rows, cells before
    them)."""

    row: float
    tile: float

    def __call__(self, parts: Sequence[tuple[int, int]]) -> float:
        if sum(rows for rows, _ in parts) < _TILE:
            return self.row * sum(rows * context for rows, context in parts)
        cells = start = 0
        for rows, context in parts:
            touched = (start + rows - 1) // _TILE - start // _TILE + 1
            cells += touched * context
            start += rows
        return self.tile * _TILE * cells


TWO_CORES = CostModel({1: 115, 4: 235, 8: 375, 16: 420, 32: 570, 64: 940, 128: 1587})
"""A 1.5B model in Q4_K_M on a virtual machine with two cores: dear rows up to 8, cheap ones up to 16."""
FLAT = CostModel({1: 100, 32: 110, 64: 200})
"""A machine that reads weights slowly and computes fast: thirty rows cost hardly more than one."""
STEEP = CostModel({1: 20, 64: 1280})
"""A machine where every row costs as much as the first: no draft pays."""
