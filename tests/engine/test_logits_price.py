"""Rows that want no logits cost less, and so much is known of that as was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import DraftRoom, Proposal
from reame_core.engine.calibration import measure_batches
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.logits_price import LogitsPrice
from reame_core.engine.request import Request
from reame_core.engine.schedule import Scheduler
from reame_core.plugins.api import Draft
from reame_core.testing import FakeClock
from tests.engine.support import FakeBackend, words
from tests.engine.test_schedule import decoding, filling

EACH = 3.0
"""Milliseconds of a row's logits, on the machine of these tests."""


def body(rows: int) -> float:
    return 30.0 + 8 * rows


def machine() -> FakeClock:
    return FakeClock(body, logits=lambda outputs: EACH * outputs)


def truth(rows: int, silent: int) -> float:
    return body(rows) + EACH * (rows - silent)


def calibrated() -> BatchCost:
    cost, clock = BatchCost(), machine()
    measure_batches(FakeBackend(cells=1024, max_rows=256, clock=clock), cost, clock)
    return cost


points = st.dictionaries(st.floats(1, 600), st.floats(0, 1e4), max_size=8)


@given(points, st.lists(st.floats(0, 1000), min_size=2, max_size=8))
def test_more_logits_are_never_cheaper(measured: dict[float, float], counts: list[float]) -> None:
    price = LogitsPrice(measured)
    prices = [price.of(count) for count in sorted(counts)]
    assert prices == sorted(prices)
    assert price.of(1) == 0


@given(points, st.integers(1, 600), st.integers(0, 600))
def test_what_silence_saves(measured: dict[float, float], rows: int, silent: int) -> None:
    price = LogitsPrice(measured)
    silent = min(rows, silent)
    assert 0 <= price.saved(rows, silent) <= price.of(rows)
    assert price.saved(rows, 0) == 0
    assert LogitsPrice(price.measured).saved(rows, silent) == price.saved(rows, silent)


def test_nothing_is_saved_before_anything_was_measured() -> None:
    assert LogitsPrice().saved(64, 64) == 0
    assert LogitsPrice({4.0: float("nan"), 8.0: -1.0, 0.5: 3.0}).measured == {}


@pytest.mark.parametrize(("rows", "silent"), [(4, 0), (8, 7), (16, 10), (32, 31), (64, 0), (64, 63), (64, 30)])
def test_a_mixed_batch_is_priced_by_what_its_rows_want(rows: int, silent: int) -> None:
    assert calibrated().estimate(rows, silent=silent) == pytest.approx(truth(rows, silent))
    assert calibrated().between(rows, silent) == pytest.approx(truth(rows, silent))


def test_a_batch_without_logits_teaches_what_one_with_them_costs() -> None:
    cost = calibrated()
    for _ in range(30):
        cost.observe(64, 0.8 * body(64) + EACH, silent=63)
    assert cost.estimate(64, silent=63) == pytest.approx(0.8 * body(64) + EACH, rel=0.01)
    assert cost.estimate(64) == pytest.approx(0.8 * body(64) + 64 * EACH, rel=0.01)


def test_prompts_get_as_many_rows_as_a_budget_allows_without_logits() -> None:
    cost = calibrated()
    loud, quiet = cost.rows_within(300, 256), cost.rows_within(300, 256, outputs=1)
    assert truth(loud, 0) <= 300 < truth(loud + 2, 0)
    assert truth(quiet, quiet - 1) <= 300 < truth(quiet + 2, quiet + 1)
    assert cost.per_row() == pytest.approx(truth(64, 63) / 64, rel=0.05)


def test_padding_weighs_silent_rows_as_silent() -> None:
    cost = BatchCost()
    cost.remember({12: 100.0, 16: 99.0}, logits={12: 0.0, 16: 20.0})
    assert cost.cheaper_size(12, 64) == 16, "the padding wants no logits: 16 rows take 79 ms"
    cost.remember({}, logits={})
    assert cost.cheaper_size(12, 64) == 12


def test_an_engine_tells_which_of_its_rows_were_silent() -> None:
    clock = machine()
    backend = FakeBackend(cells=1024, max_rows=64, clock=clock)
    engine = Engine(backend, EngineOptions(context_length=512), clock=clock)
    measure_batches(backend, engine.cost, clock)
    before = engine.cost.measured()
    for turn in range(8):
        engine.submit(Request(prompt=words(64, turn), max_tokens=1), lambda events: True)
        while not engine.idle:
            engine.step()
    assert engine.cost.measured()[64] == pytest.approx(before[64], rel=0.02)


@pytest.mark.parametrize("silent", [False, True])
def test_one_disturbed_size_is_not_believed_for_ever(silent: bool) -> None:
    """All batches of eight rows take half a second longer, those with logits or those without."""

    class Disturbed(FakeClock):
        def batch(self, rows: int, parts: Sequence[tuple[int, int]] = (), outputs: int = 0) -> None:
            super().batch(rows, parts, outputs)
            if rows == 8 and (outputs == 1) == silent:
                self.now += 0.5

    clock = Disturbed(body, logits=lambda outputs: EACH * outputs)
    cost = BatchCost()
    measure_batches(FakeBackend(cells=1024, max_rows=256, clock=clock), cost, clock)
    assert EACH * 7 / 3.01 <= cost.logits[8] <= 3.01 * EACH * 7
    assert cost.logits[64] == pytest.approx(EACH * 63)


@pytest.mark.parametrize(("drafted", "chunk"), [(0, 32), (8, 24)])
def test_beside_a_prompt_the_schedule_counts_silent_rows_as_silent(drafted: int, chunk: int) -> None:
    """And drafts as what they are. With logits for every row the budget would be full after 28."""
    users = [decoding(), filling(400)]
    rooms: list[DraftRoom] = []

    def drafts(sequences: Any, rows: int, room: DraftRoom) -> dict[int, Proposal]:
        rooms.append(room)
        return {users[0].id: Proposal("s", Draft([1] * drafted))} if sequences == users[:1] and drafted else {}

    parts = Scheduler(calibrated(), 256, 300.0).plan(users, drafts, 1000)  # type: ignore[arg-type]
    assert [part.rows for part in parts] == [1 + drafted, chunk]
    assert truth(1 + drafted + chunk, chunk) <= truth(1, 0) + 300
    gentle = rooms[0].gentle
    assert gentle is not None
    assert truth(1 + gentle, 0) <= truth(1, 0) + 300


def test_drafts_on_a_prompt_hear_how_many_rows_are_silent() -> None:
    rooms: list[DraftRoom] = []

    def drafts(sequences: Any, rows: int, room: DraftRoom) -> dict[int, Proposal]:
        rooms.append(room)
        return {}

    Scheduler(calibrated(), 256, 300.0).plan([filling(30), filling(20)], drafts, 1000)  # type: ignore[arg-type]
    assert rooms[-1].silent == 48


def test_copies_keep_the_price() -> None:
    cost = calibrated()
    assert cost.copy().logits == cost.logits != {}
    assert cost.copy().estimate(64, silent=63) == cost.estimate(64, silent=63)
