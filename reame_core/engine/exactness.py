"""Batch shapes whose rows are bit-identical, whatever else is in the batch.

ggml chooses other kernels for other numbers of rows, and with several threads a single row over a long
context splits its attention between them. So "the same computation" means: a number of rows within one
range. The range is measured on the host, because it depends on model, quantisation, buffers and processor.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.backend import Backend, ModelInfo, Rows

CANDIDATES = (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 63)
_CONTEXT = 576
"""Cells before the compared rows: more than the 512 from which attention may be split between threads."""
_COMPARED = 16


@dataclass(frozen=True, slots=True)
class ExactShapes:
    """Batches of ``least`` to ``most`` rows give bit-identical rows. A batch of fewer rows is padded with
    rows of the last sequence number, which the engine then leaves alone."""

    least: int
    most: int

    def pad(self, rows: Rows, info: ModelInfo) -> None:
        """Bring ``rows`` up to ``least``."""
        missing = self.least - len(rows)
        if missing > 0:
            rows.add(info.scratch, 0, rows.tokens[:1] * missing, logits_from=missing)

    def drop_padding(self, backend: Backend) -> None:
        """Remove what ``pad`` has added."""
        if self.least > 1:
            backend.truncate(backend.info.scratch, 0)


def find_exact_shapes(backend: Backend, sample: Many[int]) -> ExactShapes:
    """Measure the shapes of ``backend``, whose memory must be empty and is left empty.

    ``sample`` are at least a dozen different ordinary tokens. Takes about 600 rows of prefill and 300 single
    rows; remember the result by model, build and host.
    """
    info = backend.info
    length = min(_CONTEXT, info.kv_cells // 2)
    tokens = [sample[i * i % len(sample)] for i in range(length + _COMPARED)]
    try:
        chunk = min(63, info.max_rows)
        for start in range(0, length, chunk):
            rows = Rows()
            end = min(start + chunk, length)
            rows.add(0, start, tokens[start:end], logits_from=end - start)
            backend.decode(rows)
        reference = _lines(backend, tokens, length, 2)
        least = 1 if np.array_equal(_lines(backend, tokens, length, 1), reference) else 2
        most = 2
        for size in CANDIDATES[1:]:
            fits = size <= min(info.max_rows, info.max_outputs)
            fits = fits and length + len(range(0, _COMPARED, size)) * size <= info.kv_cells
            if not fits or not np.array_equal(_lines(backend, tokens, length, size), reference):
                break
            most = size
        return ExactShapes(least, most)
    finally:
        backend.clear()


def _lines(backend: Backend, tokens: list[int], length: int, size: int) -> NDArray[np.float32]:
    """(compared, vocabulary) logits of the tokens behind ``length``, computed ``size`` rows at a time."""
    lines = []
    # On a copy, which also a model can drop that cannot drop a part of a sequence.
    backend.copy(0, 1, length)
    for start in range(length, length + _COMPARED, size):
        # Always whole batches: the last one reaches past the compared rows.
        chunk = [tokens[min(i, len(tokens) - 1)] for i in range(start, start + size)]
        rows = Rows()
        rows.add(1, start, chunk, logits_from=0)
        backend.decode(rows)
        lines.append(backend.logits().copy())
    backend.truncate(1, 0)
    return np.concatenate(lines)[:_COMPARED]
