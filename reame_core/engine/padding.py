"""Rows that nobody reads, added to a batch so that it has a better shape.

Two reasons: in exact mode a batch needs at least ``ExactShapes.least`` rows; and kernels for some numbers of
rows are so much better that a larger batch takes less time (repacked weights are multiplied four rows at a
time: on one machine three rows of a 1.5B model took 119 ms and four 110).
"""

from __future__ import annotations

from dataclasses import dataclass

from reame_core.engine.backend import Backend, Rows
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.exactness import ExactShapes

MOST = 3
"""Rows added at most for the sake of speed."""
_LOOK_AGAIN = 128
"""Batches after which the unpadded shape is measured again."""


@dataclass(slots=True)
class Padding:
    """Padding rows belong to the backend's scratch sequence and are gone after the batch."""

    backend: Backend
    cost: BatchCost
    exact: ExactShapes | None
    batches: int = 0

    def add(self, rows: Rows, free_cells: int) -> None:
        """Bring ``rows`` to a better number, if there is one and ``free_cells`` allow it."""
        missing = self._missing(len(rows))
        if 0 < missing <= free_cells - len(rows):
            rows.add(self.backend.info.scratch, 0, rows.tokens[:1] * missing, logits_from=missing)

    def _missing(self, rows: int) -> int:
        if self.exact is not None:
            return self.exact.least - rows
        self.batches += 1
        if not self.backend.info.partial_removal or self.batches % _LOOK_AGAIN == 0:
            return 0
        better = self.cost.cheaper_size(rows, min(rows + MOST, self.backend.info.max_rows))
        return better - rows

    def drop(self, rows: Rows) -> None:
        """Remove what ``add`` has added."""
        if rows.sequences and rows.sequences[-1] == self.backend.info.scratch:
            self.backend.truncate(self.backend.info.scratch, 0)
