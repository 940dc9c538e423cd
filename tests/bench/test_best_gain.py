"""What the costs of batches allow, as a benchmark says it beside what was reached."""

from __future__ import annotations

import pytest

from bench.speculation.dear import best_gain


@pytest.mark.parametrize(
    ("batch", "drafting", "chance", "gain", "length"),
    [
        (lambda rows: 100.0, 0.0, 1.0, 64.0, 63),
        (lambda rows: 100.0, 100.0, 1.0, 1.0, 0),
        (lambda rows: 100.0 * rows, 1.0, 1.0, 1.0, 0),
        (lambda rows: 100.0 if rows <= 4 else 9000.0, 10.0, 1.0, 400 / 130, 3),
        (lambda rows: 100.0 if rows <= 4 else 9000.0, 10.0, 0.5, 1.75 / 1.2, 2),
        (lambda rows: 100.0, 10.0, 0.0, 1.0, 0),
    ],
)
def test_best_gain(batch: object, drafting: float, chance: float, gain: float, length: int) -> None:
    found, drafted = best_gain(batch, drafting, chance)  # type: ignore[arg-type]
    assert (found, drafted) == (pytest.approx(gain), length)
