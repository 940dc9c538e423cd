"""What batches cost, learned from those that ran; the estimate errs upwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame_core.engine.batch_cost import SIZES, BatchCost
from tests.engine.support import thorough


def test_nothing_is_expected_before_anything_ran() -> None:
    cost = BatchCost()
    assert cost.estimate(1) is None
    assert cost.rows_within(1e9, 512) == 1
    assert cost.measured() == {}


def test_larger_batches_are_expected_to_cost_in_proportion_at_most() -> None:
    cost = BatchCost()
    cost.observe(4, 100)
    assert cost.estimate(4) == 100
    assert cost.estimate(2) == 100
    assert cost.estimate(8) == 200
    cost.observe(8, 120)
    assert cost.estimate(8) == 120
    assert cost.estimate(16) == 240
    cost.observe(1, 40)
    assert cost.estimate(2) == 80


def test_a_row_more_than_a_block_of_the_kernels_costs_a_block_more() -> None:
    """Measured with AMX on a 1.5B model: 32 rows 314 ms, 33 rows 544 ms, 64 rows 593 ms."""
    cost = BatchCost()
    cost.observe(32, 314)
    cost.observe(64, 593)
    assert cost.estimate(32) == 314
    assert cost.estimate(33) == 593
    cost.observe(33, 544)
    assert cost.estimate(33) == 544
    assert cost.estimate(96) == pytest.approx(942), "three blocks of 32"


def test_the_mean_follows() -> None:
    cost = BatchCost()
    cost.observe(1, 100)
    for _ in range(30):
        cost.observe(1, 200)
    assert cost.estimate(1) == pytest.approx(200, rel=0.01)
    assert cost.measured() == {1: cost.estimate(1)}


@thorough(100)
@given(
    st.floats(0, 50),
    st.floats(0.01, 20),
    st.floats(0.4, 1),
    st.lists(st.integers(1, 600), min_size=1, max_size=20),
    st.integers(1, 600),
)
def test_an_estimate_is_never_too_low(
    fixed: float, each: float, power: float, observed: list[int], rows: int
) -> None:
    """For any cost that grows with the rows, by less and less a row."""

    def truth(rows: int) -> float:
        return fixed + each * rows**power

    cost = BatchCost()
    for size in observed:
        cost.observe(size, truth(size))
    estimate = cost.estimate(rows)
    assert estimate is not None
    assert estimate >= truth(rows) * 0.98  # means of several sizes lie a little below
    for budget in (10, 200):
        within = cost.rows_within(budget, 512)
        assert 1 <= within <= 512
        # Up to twice the time for a size that was never tried.
        assert within == 1 or truth(within) <= budget * 2 * (1 + 1e-9)
        costs = []
        for _ in range(25):
            cost.observe(within, truth(within))
            within = cost.rows_within(budget, 512)
            costs.append(truth(within) if within > 1 else 0)
        assert sorted(costs)[-6] <= budget * 1.2, "what does not fit is tried more than now and then"


def test_a_size_that_was_never_tried_is_tried_once() -> None:
    """A batch that costs the same whatever it holds: in proportion, two rows would never fit the budget."""
    cost = BatchCost()
    sizes = []
    for _ in range(10):
        sizes.append(cost.rows_within(50, 100))
        cost.observe(sizes[-1], 40)
    assert sizes == [1, 2, 4, 8, 16, 32, 64, 100, 100, 100]
    dear = BatchCost()
    sizes = []
    for _ in range(6):
        sizes.append(dear.rows_within(50, 100))
        dear.observe(sizes[-1], 40 * sizes[-1])
    assert sizes == [1, 2, 1, 1, 1, 1]


@thorough(100)
@given(st.lists(st.tuples(st.integers(1, 5000), st.floats(0.1, 1000)), min_size=1, max_size=20))
def test_estimates_grow_with_rows(observed: list[tuple[int, float]]) -> None:
    cost = BatchCost()
    for rows, milliseconds in observed:
        cost.observe(rows, milliseconds)
    estimates = [cost.estimate(size) for size in (*SIZES, 10_000)]
    assert estimates == sorted(e for e in estimates if e is not None)


@pytest.mark.parametrize("most", [1, 2, 5, 63, 64, 100, 512])
def test_a_batch_never_has_more_rows_than_the_most(most: int) -> None:
    cost = BatchCost()
    cost.observe(1, 1e-6)
    assert cost.rows_within(200, most) == most


def test_what_batches_of_several_users_take_is_learned_apart() -> None:
    cost = BatchCost()
    for _ in range(100):
        cost.observe(4, 100.0, users=1)
        cost.observe(4, 140.0, users=4)
    one, four, usual = cost.estimate(4, 1), cost.estimate(4, 4), cost.estimate(4)
    assert one is not None
    assert four is not None
    assert usual is not None
    assert one < usual < four
    assert four / one == pytest.approx(1.4, rel=0.1)
    assert cost.estimate(4, 3) == usual, "nothing is known of three"
    for _ in range(100):
        cost.observe(4, 1e6, users=4)
        cost.observe(4, 100.0, users=1)
    assert (cost.estimate(4, 4) or 0) <= 2 * (cost.estimate(4) or 0), "however long one batch was stopped"


def test_a_block_with_rows_missing_is_filled_where_that_is_cheaper() -> None:
    """As measured on an AMD EPYC with a 1.5B model: 14 rows took 303 ms and 16 rows 259."""
    cost = BatchCost()
    for rows, milliseconds in ((8, 207.0), (12, 263.0), (14, 303.0), (16, 259.0)):
        cost.observe(rows, milliseconds)
    assert [cost.cheaper_size(rows, 64) for rows in (12, 13, 14, 15, 16)] == [12, 16, 16, 16, 16]
    assert cost.estimate(14) == pytest.approx(259.0)
    for _ in range(20):
        cost.observe(15, 314.0)
    assert cost.cheaper_size(14, 64) == 16, "what 15 rows take says nothing of 16"
