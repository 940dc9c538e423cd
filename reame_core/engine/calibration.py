"""What batches of each size cost on this host, and what attention and logits cost, measured before the first
request."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations, cycle
from statistics import median

from reame_core.engine.attention import TILE, attended
from reame_core.engine.backend import Backend, Rows
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.trial import Trial

SIZES = (1, 2, 3, 4, 6, 7, 8, 12, 16, 24, 32, 48, 64)
_ALSO_SILENT = (4, 8, 16, 32, 64)
"""Of ``SIZES``: measured with logits for a single row as well."""
_UNLIKELY = 3.0
_CONTEXT = 64
_ROUNDS = 2
_CHUNKS = 8


def measure_batches(backend: Backend, cost: BatchCost, clock: Callable[[], float] = time.perf_counter) -> None:
    """Tell ``cost`` the better of two batches of each of ``SIZES``. ``backend``'s memory must be empty and is
    left empty. Takes as long as some 25 one-row batches and 1,750 rows of prompt."""
    token = min(100, backend.info.vocabulary_size - 1)
    logits: dict[float, float] = {}
    with Trial(backend, [token], _CONTEXT, 1) as trial:
        for size in filter(trial.fits, SIZES):
            best = min(trial.milliseconds(size, clock) for _ in range(_ROUNDS))
            cost.observe(size, best, attended=attended([(size, trial.context)]))
            if size in _ALSO_SILENT:
                silent = min(trial.milliseconds(size, clock, outputs=1) for _ in range(_ROUNDS))
                logits[size] = max(0.0, best - silent)
    cost.remember({}, _measure_attention(backend, token, clock), _plausible(logits))


def knows_logits(cost: BatchCost, backend: Backend) -> bool:
    """Whether ``cost`` has been told what ``measure_batches`` can tell of ``backend``'s logits. Where it has
    not, what it knows of rows speaks of whatever rows it met, those of prompts without logits too."""
    most = min(backend.info.max_rows, backend.info.max_outputs)
    return all(size in cost.logits for size in _ALSO_SILENT if size <= most)


def _plausible(logits: dict[float, float]) -> dict[float, float]:
    """What was measured, within a factor of ``_UNLIKELY`` of what the median of all says of each row: two
    batches were compared for each, and nothing corrects the result later."""
    if not logits:
        return {}
    each = median(milliseconds / (size - 1) for size, milliseconds in logits.items())
    return {
        size: min(max(milliseconds, each * (size - 1) / _UNLIKELY), _UNLIKELY * each * (size - 1))
        for size, milliseconds in logits.items()
    }


def _measure_attention(backend: Backend, token: int, clock: Callable[[], float]) -> list[float]:
    """Milliseconds of a pair of row and cell in small batches, and in tiles: by how much more of a prompt's
    chunks take, computed by turns in batches of the two kinds; the better of two times for each."""
    best: dict[int, dict[int, float]] = {TILE - 1: {}, TILE: {}}
    for _ in range(_ROUNDS):
        computed = 0
        try:
            for _, size in zip(range(_CHUNKS), cycle(best), strict=False):
                if size > min(backend.info.max_rows, backend.info.kv_cells - computed):
                    continue
                rows = Rows()
                rows.add(0, computed, [token] * size, logits_from=size)
                started = clock()
                backend.decode(rows)
                spent = 1000 * (clock() - started)
                best[size][computed] = min(spent, best[size].get(computed, spent))
                computed += size
        finally:
            backend.clear()
    return [_slope([*points.items()]) / size for size, points in best.items()]


def _slope(points: list[tuple[int, float]]) -> float:
    """The median of all pairs, so that one disturbed batch does not count; 0 where there are no pairs."""
    slopes = [(b - a) / (right - left) for (left, a), (right, b) in combinations(points, 2)]
    return max(0.0, median(slopes)) if slopes else 0.0
