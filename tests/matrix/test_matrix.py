"""Every pair of features, and a sample of triples, against the plain path: a fresh engine, one request,
nothing reused, no plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.matrix.cases import Case, label, pairs, triples
from tests.matrix.comparing import compare
from tests.matrix.features import FEATURES, Feature
from tests.matrix.ground import FakeGround
from tests.matrix.world import World

GROUND = FakeGround()


@pytest.mark.parametrize("feature", FEATURES, ids=lambda each: each.name)
def test_each_feature_takes_part(feature: type[Feature], tmp_path: Path) -> None:
    made = feature()
    with World(GROUND, tmp_path, [made]) as world:
        answered = world.run()
        compare(world, answered)
        assert made.took_part(world, [answers for _, answers in answered]), "it had no effect"


@pytest.mark.parametrize("case", pairs(), ids=label)
def test_pairs(case: Case, tmp_path: Path) -> None:
    _check(case, tmp_path)


@pytest.mark.parametrize("case", triples(), ids=label)
def test_triples(case: Case, tmp_path: Path) -> None:
    _check(case, tmp_path)


def _check(case: Case, folder: Path) -> None:
    with World(GROUND, folder, [feature() for feature in case]) as world:
        compare(world, world.run())
