"""The matrix on a real model, one thread, greedy: bit-identical whatever the batches are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reame_core.models.catalogue import resolve
from tests.matrix.cases import Case, label
from tests.matrix.comparing import compare
from tests.matrix.model_cases import model_cases
from tests.matrix.real import RealGround
from tests.matrix.world import World

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def ground() -> Iterator[RealGround]:
    ground = RealGround(resolve("smollm2-135m").path)
    yield ground
    ground.close()


@pytest.mark.parametrize("case", model_cases(), ids=label)
def test_case(case: Case, ground: RealGround, tmp_path: Path) -> None:
    with World(ground, tmp_path, [feature() for feature in case]) as world:
        compare(world, world.run())
