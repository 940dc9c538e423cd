"""What batches of each size cost on this host, measured before the first request."""

from __future__ import annotations

import time
from collections.abc import Callable

from reame_core.engine.backend import Backend, Rows
from reame_core.engine.batch_cost import BatchCost

SIZES = (1, 2, 3, 4, 6, 7, 8, 16, 32, 48, 64)
_CONTEXT = 64
_ROUNDS = 2


def measure_batches(backend: Backend, cost: BatchCost, clock: Callable[[], float] = time.perf_counter) -> None:
    """Tell ``cost`` the better of two batches of each of ``SIZES``. ``backend``'s memory must be empty and is
    left empty. Takes as long as some 25 one-row batches and 350 rows of prompt."""
    token = min(100, backend.info.vocabulary_size - 1)
    sizes = [size for size in SIZES if size <= min(backend.info.max_rows, backend.info.max_outputs)]
    try:
        _timed(backend, token, 0, _CONTEXT, clock)
        for size in sizes:
            cost.observe(size, min(_timed(backend, token, _CONTEXT, size, clock) for _ in range(_ROUNDS)))
    finally:
        backend.clear()


def _timed(backend: Backend, token: int, start: int, size: int, clock: Callable[[], float]) -> float:
    rows = Rows()
    rows.add(0, start, [token] * size, logits_from=0 if start else size)
    started = clock()
    backend.decode(rows)
    milliseconds = 1000 * (clock() - started)
    if start:
        backend.truncate(0, start)
    return milliseconds
