"""Drafts on the last rows of a prompt: what is verified there and what is left for the next batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame_core.engine.attention import Attended
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import Bid, Proposal
from reame_core.engine.calibration import measure_batches
from reame_core.engine.lookahead import tokens_to_verify
from reame_core.engine.odds import expected
from reame_core.engine.riders import grant_riders
from reame_core.plugins.api import Draft
from reame_core.testing import FakeBackend, FakeClock
from tests.engine.support import thorough


class Talker:
    """As much of a sequence as bids look at."""

    id = 1

    def __init__(self, computed: int = 0) -> None:
        self.computed = self.known = computed


class Even(BatchCost):
    """A row costs 10 ms, and a batch 30 more."""

    def estimate(self, rows: int, users: int = 0, attended: Attended | None = None, silent: int = 0) -> float:
        return 30.0 + 10 * rows

    def between(self, rows: int, silent: int = 0) -> float:
        return 30.0 + 10 * rows


def bid(chances: list[float], context: int = 0) -> Bid:
    draft = Draft([1] * len(chances))
    return Bid(Talker(context), Proposal("s", draft), expected(chances))  # type: ignore[arg-type]


def granted(
    rows: int,
    chances: list[float],
    users: int = 1,
    cost: BatchCost | None = None,
    context: int = 0,
    spare: int = 40,
) -> int:
    """Rows for one user's draft beside ``rows``, of which one for each of ``users`` gives a token. He has
    ``context`` tokens in memory."""
    one = bid(chances, context)
    grant_riders([one], users, rows, spare, cost or Even())
    return one.granted


@pytest.mark.parametrize("prompt", [2, 20, 100])
def test_a_long_prompt_does_not_make_doubtful_drafts_worth_their_rows(prompt: int) -> None:
    """Beside 100 rows of prompt any token is cheap in comparison, but its row costs what it always costs."""
    assert granted(1 + prompt, [0.2] * 16) == 0
    assert granted(1 + prompt, [0.99] * 16) == 16


@pytest.mark.parametrize(("doubtful", "rows"), [(0.05, 4), (0.2, 4), (0.97, 20)])
def test_a_draft_is_cut_before_a_token_that_is_rarely_right(doubtful: float, rows: int) -> None:
    """The four tokens before it are verified with the prompt, and the target tells the fifth. What is behind
    follows in the next batch, which the draft at that place is made for."""
    form = [0.99] * 4 + [doubtful] + [0.99] * 15
    assert granted(30, form) == rows


def test_no_more_than_there_is_room_for() -> None:
    assert granted(30, [0.99] * 20, spare=7) == 7
    assert granted(30, [0.99] * 20, spare=0) == 0


def test_beside_others_a_token_is_worth_what_it_costs_all_of_them() -> None:
    assert granted(1 + 3, [0.5] * 16) > 0
    assert granted(8 + 3, [0.5] * 16, users=8) == 0


def test_of_two_prompts_that_are_ready_at_once_the_surer_draft_comes_first() -> None:
    bids = [bid([0.9] * 12), bid([0.99] * 12)]
    gain = grant_riders(bids, 2, 40, 16, Even())
    assert bids[1].granted == 12
    assert 0 < bids[0].granted <= 4
    assert gain is not None
    assert gain.milliseconds == 30 + 10 * (40 + 12 + bids[0].granted)
    assert gain.tokens == pytest.approx(2 + sum(bids[1].chances) + bids[0].promise)


def test_a_single_token_rides_as_well() -> None:
    assert granted(30, [0.95]) == 1


def calibrated() -> BatchCost:
    cost, clock = BatchCost(), FakeClock(lambda rows: 30.0 + 10 * rows)
    measure_batches(FakeBackend(cells=1024, max_rows=256, clock=clock), cost, clock)
    return cost


def test_rows_are_not_free_because_nobody_has_measured_so_many() -> None:
    for rows in (34, 100):
        assert granted(rows, [0.2] * 16, cost=calibrated()) == 0
        assert granted(rows, [0.95] * 16, cost=calibrated()) > 0


def test_behind_a_long_context_drafts_do_not_wait_for_a_batch_that_is_as_dear() -> None:
    """What rows attend to costs the same beside the prompt and later."""
    cost = BatchCost()
    cost.remember({1: 40.0, 2: 42.0, 4: 46.0, 8: 60.0, 16: 110.0}, attention=[0.01, 0.002])
    assert granted(2, [0.99] * 16, cost=cost) == 14
    assert granted(2, [0.99] * 16, cost=cost, context=1000) == 14


def test_nothing_is_promised_before_anything_was_measured() -> None:
    one = bid([0.99] * 4)
    assert grant_riders([one], 1, 20, 40, BatchCost()) is None
    assert one.granted == 0


def waiting(count: int, conditional: list[float], now: list[float], later: list[float]) -> float:
    """Milliseconds until all tokens that are right, and the next one, are there: by trying every way on, where
    the module goes backwards."""

    def behind(chances: list[float], verified: int) -> float:
        """After a batch: each of the tokens it tells may be the first wrong one."""
        told = verified + 1
        reached = 1.0
        for chance in chances[:told]:
            reached *= chance
        return reached * ahead(chances[told:]) if told <= len(chances) else 0.0

    def ahead(chances: list[float]) -> float:
        return min(later[window] + behind(chances, window) for window in range(len(chances) + 1))

    return now[count] + behind(conditional, count)


@thorough(150)
@given(
    st.lists(st.floats(0, 0.99), max_size=4),  # every window up to three tokens is thought of
    st.integers(0, 5),
    st.lists(st.floats(1, 100), min_size=5, max_size=5),
    st.lists(st.floats(1, 100), min_size=5, max_size=5),
)
def test_no_other_number_of_rows_is_expected_to_be_faster(
    conditional: list[float], most: int, now: list[float], later: list[float]
) -> None:
    count = tokens_to_verify(expected(conditional), most, now.__getitem__, later.__getitem__)
    all_ways = [waiting(k, conditional, now, later) for k in range(min(most, len(conditional)) + 1)]
    assert all_ways[count] == pytest.approx(min(all_ways))
