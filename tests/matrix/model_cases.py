"""What is tested on a real model, which is slower by far than the fake backend."""

from __future__ import annotations

import random

from tests.matrix.cases import Case, pairs, triples
from tests.matrix.features import (
    FEATURES,
    Cancel,
    DiskRestarted,
    DraftModel,
    ExactMode,
    FourUsers,
    Palimpsest,
    QuantisedMemory,
    RamReuse,
    StructuredOutput,
    TinyMemory,
)

TENSORS = {
    RamReuse,
    DiskRestarted,
    Palimpsest,
    StructuredOutput,
    FourUsers,
    Cancel,
    TinyMemory,
    QuantisedMemory,
    ExactMode,
}
"""Features that decide which rows are computed in which batch, over which cells: only here can a real model
differ from the fake one."""
TRIPLES = 10
_SEED = 21


def model_cases() -> list[Case]:
    """Each feature alone (but a second model in memory), every pair that matters to tensors, some triples."""
    three = [case for case in triples() if TENSORS.issuperset(case)]
    return [
        *((each,) for each in FEATURES if each is not DraftModel),
        *(case for case in pairs() if TENSORS.issuperset(case)),
        *random.Random(_SEED).sample(three, min(TRIPLES, len(three))),
    ]
