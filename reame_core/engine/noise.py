"""How much the kernels for one row and for many disagree on this host and model.

A drafted token is judged by the logits of a batch of many rows, and was generated, the last time, from those
of one row or of another number of rows. Where two tokens are nearly equal the two computations may prefer
different ones. A difference below the floor measured here says nothing, so a greedy request takes the drafted
token then.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.backend import Backend
from reame_core.engine.trial import Trial

CEILING = 0.35
"""Never more than this, in logits: whatever is measured, a clearly better token wins."""
_PERCENTILE = 99
_CONTEXT, _COMPARED = 64, 64
_SMALL, _LARGE = (16, 48), (64,)

LAST_SMALL_BATCH = 63
"""From one row more attention works in tiles."""


@dataclass(frozen=True, slots=True)
class KernelNoise:
    """How far batches of one row and of many disagree, and which ones agree.

    There is a floor even where small batches are bit-identical: the last row of a prompt may be computed in a
    large batch the first time and in a small one when the prompt is remembered, and whoever decodes beside
    somebody's long prompt is in a large batch, too.
    """

    floor: float = 0.0
    """The 99th percentile of how far the gap between the two best logits moves in those sizes of batches that
    compute anything else than one row; at most ``CEILING``."""
    small_agree: bool = True
    """Whether batches of up to ``LAST_SMALL_BATCH`` rows are bit-identical. Drafts had better stay in such."""


def find_noise(backend: Backend, sample: Many[int]) -> KernelNoise:
    """Measure it. ``backend``'s memory must be empty and is left empty. Takes about 70 single rows."""
    with Trial(backend, sample, _CONTEXT, _COMPARED) as trial:
        one = trial.lines(1)
        best = np.argsort(one, axis=1)[:, -2:]
        small = [trial.lines(size) for size in _SMALL if trial.fits(size)]
        large = [trial.lines(size) for size in _LARGE if trial.fits(size)]
        agree = all(np.array_equal(lines, one) for lines in small)
        others = [lines for lines in (*small, *large) if not np.array_equal(lines, one)]
        if not others:
            return KernelNoise()
        moved = [np.abs(_gaps(one, best) - _gaps(lines, best)) for lines in others]
        return KernelNoise(float(min(CEILING, np.percentile(np.concatenate(moved), _PERCENTILE))), agree)


def _gaps(lines: NDArray[np.float32], best: NDArray[np.intp]) -> NDArray[np.float32]:
    """(compared,) how far the second best token (of the one-row logits) is behind the best."""
    pairs = np.take_along_axis(lines, best, axis=1)
    gaps: NDArray[np.float32] = pairs[:, 1] - pairs[:, 0]
    return gaps
