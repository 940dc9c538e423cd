"""Batch shapes whose rows are bit-identical, whatever else is in the batch.

ggml chooses other kernels for other numbers of rows, and with several threads a single row over a long
context splits its attention between them. So "the same computation" means: a number of rows within one
range. The range is measured on the host, because it depends on model, quantisation, buffers and processor.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass

import numpy as np

from reame_core.engine.backend import Backend
from reame_core.engine.trial import Trial

CANDIDATES = (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 63)
_CONTEXT = 576
"""Cells before the compared rows: more than the 512 from which attention may be split between threads."""
_COMPARED = 16


@dataclass(frozen=True, slots=True)
class ExactShapes:
    """Batches of ``least`` to ``most`` rows give bit-identical rows; one of fewer rows is padded."""

    least: int
    most: int


def find_exact_shapes(backend: Backend, sample: Many[int]) -> ExactShapes:
    """Measure the shapes of ``backend``, whose memory must be empty and is left empty.

    ``sample`` are at least a dozen different ordinary tokens. Takes about 600 rows of prefill and 200 rows
    more; remember the result by model, build and host.
    """
    with Trial(backend, sample, _CONTEXT, _COMPARED) as trial:
        if not trial.fits(2):
            return ExactShapes(1, 1)
        reference = trial.lines(2)
        least = 1 if np.array_equal(trial.lines(1), reference) else 2
        most = 2
        for size in CANDIDATES[1:]:
            if not trial.fits(size) or not np.array_equal(trial.lines(size), reference):
                break
            most = size
        return ExactShapes(least, most)
