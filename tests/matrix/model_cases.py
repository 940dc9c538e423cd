"""What is tested on a real model: loading nothing twice, it is slower by far than the fake backend."""

from __future__ import annotations

import random

from tests.matrix.cases import Case, pairs, triples
from tests.matrix.features import FEATURES, DraftModel

ONLY_FAKE = (DraftModel,)
"""It would be a second model in memory."""
TRIPLES = 20
_SEED = 21


def model_cases() -> list[Case]:
    """Each feature alone, every pair, and some of the triples."""
    features = [each for each in FEATURES if each not in ONLY_FAKE]
    three = [case for case in triples() if not set(case) & set(ONLY_FAKE)]
    return [
        *((each,) for each in features),
        *(case for case in pairs() if not set(case) & set(ONLY_FAKE)),
        *random.Random(_SEED).sample(three, min(TRIPLES, len(three))),
    ]
