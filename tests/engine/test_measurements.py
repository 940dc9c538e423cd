"""What is measured at start works with any memory and any batch, and leaves nothing behind."""

from __future__ import annotations

import pytest

from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.calibration import measure_batches
from reame_core.engine.exactness import find_exact_shapes
from reame_core.engine.noise import KernelNoise, find_noise
from reame_core.testing import FakeClock
from tests.engine.support import FakeBackend, words

SAMPLE = list(words(40)[1:])


@pytest.mark.parametrize("cells", [8, 9, 20, 40, 100, 200, 2000])
@pytest.mark.parametrize("max_rows", [1, 2, 7, 63, 512])
@pytest.mark.parametrize("max_outputs", [1, 2, 16, 64])
def test_measuring_in_any_memory_with_any_batch(cells: int, max_rows: int, max_outputs: int) -> None:
    clock = FakeClock(lambda rows: 10.0 + rows)
    backend = FakeBackend(cells=cells, max_rows=max_rows, max_outputs=max_outputs, clock=clock)
    shapes = find_exact_shapes(backend, SAMPLE)
    assert 1 == shapes.least <= shapes.most <= max_rows
    assert backend.used_cells() == 0
    assert find_noise(backend, SAMPLE) == KernelNoise(0.0, True)
    assert backend.used_cells() == 0
    cost = BatchCost()
    measure_batches(backend, cost, clock)
    assert backend.used_cells() == 0
    assert cost.estimate(1) == pytest.approx(11)
    assert all(ms == pytest.approx(10 + rows) for rows, ms in cost.measured().items())


def test_a_recurrent_model_is_measured_too() -> None:
    clock = FakeClock(lambda rows: 10.0 + rows)
    backend = FakeBackend(recurrent=True, clock=clock)
    cost = BatchCost()
    measure_batches(backend, cost, clock)
    find_exact_shapes(backend, SAMPLE)
    find_noise(backend, SAMPLE)
    assert backend.used_cells() == 0
    assert cost.estimate(16) == pytest.approx(26)
