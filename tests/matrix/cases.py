"""Which features are tested together."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

from tests.matrix.features import FEATURES, Feature

Case = tuple[type[Feature], ...]

TRIPLES = 120
_SEED = 20


def possible(case: Case) -> bool:
    """Two states of one thing exclude each other."""
    return not any(b.name in a.excludes for a in case for b in case)


def pairs() -> list[Case]:
    return [case for case in combinations(FEATURES, 2) if possible(case)]


def triples(count: int = TRIPLES) -> list[Case]:
    """A sample: always the same one for the same features."""
    every = [case for case in combinations(FEATURES, 3) if possible(case)]
    return random.Random(_SEED).sample(every, min(count, len(every)))


def label(case: Sequence[type[Feature]]) -> str:
    return " + ".join(feature.name for feature in case)
