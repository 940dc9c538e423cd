"""What is tested on a real model: loading nothing twice, it is slower by far than the fake backend."""

from __future__ import annotations

import random

from tests.matrix.cases import Case, pairs, triples
from tests.matrix.features import FEATURES, DraftModel, Sampling

ONLY_FAKE = (DraftModel, Sampling)
"""A second model in memory; draws, which greedy answers are not."""
TRIPLES = 20
_SEED = 21


def model_cases() -> list[Case]:
    """Each feature alone, every pair of those that a greedy answer can have, and some of the triples."""
    features = [each for each in FEATURES if each not in ONLY_FAKE]
    three = [case for case in triples() if not set(case) & set(ONLY_FAKE)]
    return [
        *((each,) for each in features),
        *(case for case in pairs() if not set(case) & set(ONLY_FAKE)),
        *random.Random(_SEED).sample(three, min(TRIPLES, len(three))),
    ]
