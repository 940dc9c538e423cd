"""Whether drafted tokens follow the distributions they are said to have been drawn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reame_core.testing.contracts.laws import BrokenLaw

FEWEST_DRAWS = 1000
_BINS = 10
_LIMIT = 63.5
"""Chi-square of 9 degrees of freedom: one false alarm in a billion."""


def rank_of(token: int, distribution: NDArray[np.float32], chance: float) -> float:
    """Where ``token`` lies in ``distribution`` (vocabulary,), most probable tokens first: from 0 to 1, at
    ``chance`` within its own share. Uniform from 0 to 1 if, and only if, tokens are drawn from it (the
    randomized probability integral transform)."""
    share = distribution[token]
    before = distribution[distribution > share].sum(dtype=np.float64)
    # Of equally probable tokens the one with the smaller number is first.
    before += share * np.count_nonzero(distribution[:token] == share)
    return float(before + chance * share)


def check_draws(ranks: Sequence[float]) -> None:
    """Raise BrokenLaw where ``ranks`` are not uniform. Fewer than ``FEWEST_DRAWS`` say too little."""
    if len(ranks) < FEWEST_DRAWS:
        return
    counts, _ = np.histogram(np.clip(ranks, 0, 1), _BINS, (0, 1))
    due = len(ranks) / _BINS
    if ((counts - due) ** 2 / due).sum() > _LIMIT:
        raise BrokenLaw(
            f"{len(ranks)} drafted tokens do not follow the distributions they come with: of ten equally "
            f"probable parts, most probable tokens first, they hit {counts.tolist()}. A token must be drawn "
            "from its distribution, and neither tokens nor drafts may be dropped by what was drawn: sampled "
            "answers would not keep their distribution."
        )
