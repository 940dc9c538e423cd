"""A draft is verified so that its end is there soonest, not so that this batch has the best rate."""

from __future__ import annotations

import pytest

from reame_core.engine.attention import NOTHING
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import Bid, DraftRoom, grant
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.lookahead import grant_to_the_end
from reame_core.testing import FakeBackend, FakeClock
from tests.engine.test_riders import bid

CURVE = {1: 40.0, 4: 150.0, 8: 200.0, 24: 300.0, 32: 370.0, 64: 900.0}
"""Of 24 rows and 27 the former give more tokens a millisecond, of all numbers 32."""


def priced() -> BatchCost:
    cost = BatchCost()
    cost.remember(CURVE)
    return cost


def both(chances: list[float], spare: int = 63) -> tuple[Bid, Bid]:
    """By rate, and to the end."""
    by_rate, to_the_end, cost = bid(chances), bid(chances), priced()
    grant([by_rate], 1, 1, spare, cost)
    grant_to_the_end(to_the_end, spare, cost, NOTHING, 40.0)
    return by_rate, to_the_end


def test_two_more_rows_now_are_cheaper_than_another_batch() -> None:
    by_rate, to_the_end = both([0.999] * 26)
    assert (by_rate.granted, to_the_end.granted) == (23, 26)


def test_of_a_long_draft_the_good_number_is_taken() -> None:
    by_rate, to_the_end = both([0.999] * 63)
    assert (by_rate.granted, to_the_end.granted) == (31, 31)


def test_what_is_hardly_right_is_not_thought_of() -> None:
    for chances in ([0.999] * 23 + [0.01] * 30, [0.02] * 30):
        _, to_the_end = both(chances)
        assert to_the_end.granted <= 23
    assert to_the_end.granted == 0


def test_no_more_than_there_is_room_for() -> None:
    """Nor does it wait for a batch with more room, which would not come."""
    _, to_the_end = both([0.999] * 26, spare=9)
    assert to_the_end.granted == 7


@pytest.mark.parametrize(("users", "granted"), [(1, 26), (2, 23)])
def test_where_others_wait_it_is_the_rate_that_counts(users: int, granted: int) -> None:
    clock = FakeClock()
    engine = Engine(FakeBackend(cells=512, clock=clock), EngineOptions(context_length=256), clock=clock)
    engine.cost.remember(CURVE)
    chosen = [bid([0.999] * 26 if number == 0 else [0.001]) for number in range(users)]
    gain = engine.speculation._grant(chosen, users, users, 63, DraftRoom(63))
    assert gain is not None
    assert gain.tokens == pytest.approx(users + sum(each.promise for each in chosen))
    assert abs(chosen[0].granted - granted) <= users - 1
