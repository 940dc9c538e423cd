"""How much the kernels for one row and for many disagree on this host and model.

A drafted token is judged by the logits of a batch of many rows, and was generated, the last time, from those
of one row or of another number of rows. Where two tokens are nearly equal the two computations may prefer
different ones. A difference below the floor measured here says nothing, so a greedy request takes the drafted
token then.
"""

from __future__ import annotations

from collections.abc import Sequence as Many

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.backend import Backend, Rows

CEILING = 0.35
"""Never more than this, in logits: whatever is measured, a clearly better token wins."""
_PERCENTILE = 95
_CONTEXT, _COMPARED = 64, 64
_SMALL, _LARGE = (16, 48), (64,)

LAST_SMALL_BATCH = 63
"""From one row more attention works in tiles."""


def find_noise_floor(backend: Backend, sample: Many[int]) -> float:
    """The 95th percentile of how far the gap between the two best logits moves between batches of one row and
    of many. It is 0 where batches up to ``LAST_SMALL_BATCH`` rows are bit-identical; drafts have to stay in
    such batches then. ``backend``'s memory must be empty and is left empty. Takes about 70 single rows."""
    tokens = [sample[i * i % len(sample)] for i in range(_CONTEXT + _COMPARED)]
    try:
        _decode(backend, tokens[:_CONTEXT], 0, outputs=False)
        one = _lines(backend, tokens, 1)
        best = np.argsort(one, axis=1)[:, -2:]
        small = [_lines(backend, tokens, size) for size in _SMALL]
        if all(np.array_equal(lines, one) for lines in small):
            return 0.0
        large = [_lines(backend, tokens, size) for size in _LARGE if size <= backend.info.max_outputs]
        moved = [np.abs(_gaps(one, best) - _gaps(lines, best)) for lines in (*small, *large)]
        return float(min(CEILING, np.percentile(np.concatenate(moved), _PERCENTILE)))
    finally:
        backend.clear()


def _gaps(lines: NDArray[np.float32], best: NDArray[np.intp]) -> NDArray[np.float32]:
    """(compared,) how far the second best token (of the one-row logits) is behind the best."""
    pairs = np.take_along_axis(lines, best, axis=1)
    gaps: NDArray[np.float32] = pairs[:, 1] - pairs[:, 0]
    return gaps


def _lines(backend: Backend, tokens: list[int], size: int) -> NDArray[np.float32]:
    """(compared, vocabulary) logits behind the context, ``size`` rows at a time."""
    lines = [
        _decode(backend, tokens[start : start + size], start, outputs=True)
        for start in range(_CONTEXT, _CONTEXT + _COMPARED, size)
    ]
    backend.truncate(0, _CONTEXT)
    return np.concatenate(lines)[:_COMPARED]


def _decode(backend: Backend, tokens: list[int], start: int, *, outputs: bool) -> NDArray[np.float32]:
    rows = Rows()
    rows.add(0, start, tokens, logits_from=0 if outputs else len(tokens))
    backend.decode(rows)
    return backend.logits().copy()
