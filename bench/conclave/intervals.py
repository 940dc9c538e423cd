"""How sure a share is that was counted on few questions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import sqrt

_Z = 1.959964
"""The normal quantile of 97.5 %."""


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share of ``count`` (Wilson 1927)."""
    centre = share + _Z**2 / (2 * count)
    spread = _Z * sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2))
    scale = 1 + _Z**2 / count
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def paired(one: Sequence[float], other: Sequence[float], draws: int = 4000) -> tuple[float, float]:
    """The 95 % interval of the mean of ``one`` minus that of ``other`` on the same questions, by drawing
    questions anew (bootstrap, seeded)."""
    chance = random.Random(0)
    differences = [a - b for a, b in zip(one, other, strict=True)]
    size = len(differences)
    means = sorted(sum(chance.choices(differences, k=size)) / size for _ in range(draws))
    return means[int(0.025 * draws)], means[int(0.975 * draws) - 1]
