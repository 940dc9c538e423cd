"""Rows that nobody reads, added to a batch so that it has a better shape.

Two reasons: in exact mode a batch needs at least ``ExactShapes.least`` rows; and kernels for some numbers of
rows are so much better that a larger batch takes less time. Repacked weights are multiplied four rows at a
time: on one machine three rows of a 1.5B model took 119 ms and four 110. And from ``attention.TILE`` rows on
attention is so much cheaper that behind a long context 60 rows cost more than 64: on one machine 63 rows of a
0.5B model behind 1,500 tokens took 618 ms and 64 rows 450.
"""

from __future__ import annotations

from dataclasses import dataclass

from reame_core.engine.attention import NOTHING, Attended
from reame_core.engine.backend import Backend, Rows
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.exactness import ExactShapes

_LOOK_AGAIN = 128
"""Batches after which the unpadded shape is measured again."""


@dataclass(slots=True)
class Padding:
    """Padding rows belong to the backend's scratch sequence and are gone after the batch."""

    backend: Backend
    cost: BatchCost
    exact: ExactShapes | None
    answer_rows: int | None = None
    """Rows of a batch up to which padding may bring one that yields logits; None for as many as there can be.
    Where small batches are bit-identical and larger ones are not, a draft is right because it was once said by
    a small batch: verified in tiles the same text would drift away from it at each repetition."""
    batches: int = 0

    def add(self, rows: Rows, free_cells: int, attended: Attended = NOTHING) -> None:
        """Bring ``rows``, which attend to ``attended``, to a better number, if there is one and ``free_cells``
        allow it."""
        missing = self._missing(rows, free_cells, attended)
        if 0 < missing <= free_cells - len(rows):
            rows.add(self.backend.info.scratch, 0, rows.tokens[:1] * missing, logits_from=missing)

    def _missing(self, rows: Rows, free_cells: int, attended: Attended) -> int:
        count = len(rows)
        if self.exact is not None:
            return self.exact.least - count
        self.batches += 1
        if not self.backend.info.partial_removal or self.batches % _LOOK_AGAIN == 0:
            return 0
        most = min(self.backend.info.max_rows, free_cells)
        if rows.outputs and self.answer_rows is not None:
            most = min(most, self.answer_rows)
        return self.cost.cheaper_size(count, most, attended, count - rows.outputs) - count

    def drop(self, rows: Rows) -> None:
        """Remove what ``add`` has added."""
        if rows.sequences and rows.sequences[-1] == self.backend.info.scratch:
            self.backend.truncate(self.backend.info.scratch, 0)
