"""What batches cost is remembered from one start to the next, and what an older Reame wrote is not read."""

from __future__ import annotations

from typing import Any

import pytest

from reame_core import measurements
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.calibration import measure_batches
from reame_core.host.state import HostState
from reame_core.measurements import HostMeasurements
from reame_core.testing import FakeBackend, FakeClock

KEY = "batch_costs 4 | here"


class Host(HostMeasurements):
    """As much as costs need."""

    _variant = "here"  # type: ignore[assignment]

    def __init__(self, **remembered: Any) -> None:
        self._store = HostState(None)
        for key, value in remembered.items():
            self._store.put(key, value)


def recalled(host: Host) -> BatchCost:
    cost = BatchCost()
    host.recall_costs(None, cost, measure=False)  # type: ignore[arg-type]
    return cost


def test_rows_and_attention_come_back() -> None:
    host, cost = Host(), BatchCost()
    cost.remember({1.0: 30.0, 64.0: 500.0}, (0.005, 0.001), {64.0: 90.0})
    host.keep_costs(cost)
    again = recalled(host)
    assert again.measured() == cost.measured()
    assert again.attention == cost.attention
    assert again.logits == cost.logits == {64.0: 90.0}


@pytest.mark.parametrize(
    "stored",
    [
        {"batch_costs | here": {"1.0": 30.0}},
        {KEY: {"1.0": 30.0}},
        {KEY: {"rows": {}, "attention": [0.1, 0.1], "logits": {}}},
        {KEY: {"rows": {"1.0": 30.0}}},
        {KEY: {"rows": {"1.0": 30.0}, "attention": [0.1, 0.1]}},
        {KEY: {"rows": {"1.0": 30.0}, "attention": ["0.1", None], "logits": {}}},
        {KEY: {"rows": {"one": 30.0}, "attention": [0.1, 0.1], "logits": {}}},
        {KEY: {"rows": {"1.0": None}, "attention": [0.1, 0.1], "logits": {}}},
        {KEY: {"rows": {"1.0": 30.0}, "attention": [0.1, 0.1], "logits": [1.0]}},
        {KEY: {"rows": {"1.0": 30.0}, "attention": [0.1, 0.1], "logits": {"64": None}}},
        {KEY: "nonsense"},
    ],
)
def test_what_is_not_in_this_form_is_a_miss(stored: dict[str, Any]) -> None:
    assert recalled(Host(**stored)).measured() == {}


def test_costs_of_a_session_that_measured_nothing_are_measured_by_one_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the first one met were mostly rows of prompts: they say little of rows with logits."""
    host, unmeasured = Host(), BatchCost()
    unmeasured.observe(64, 600.0, silent=63)
    unmeasured.observe(1, 30.0)
    host.keep_costs(unmeasured)
    assert recalled(host).measured() == {1: 30.0, 64: 600.0}, "better than nothing for another of its kind"
    clock = FakeClock(lambda rows: 20.0 + rows, logits=lambda outputs: 2.0 * outputs)
    backend, cost = FakeBackend(cells=512, clock=clock), BatchCost()
    told: list[str] = []
    host._progress = told.append
    monkeypatch.setattr(measurements, "measure_batches", lambda *asked: measure_batches(*asked, clock))
    host.recall_costs(backend, cost, measure=True)  # type: ignore[arg-type]
    assert told == ["measuring what batches cost, once"]
    assert cost.estimate(64) == pytest.approx(20 + 64 + 128)
    host.keep_costs(cost)
    again = BatchCost()
    host.recall_costs(backend, again, measure=True)  # type: ignore[arg-type]
    assert len(told) == 1
    assert again.estimate(64, silent=63) == pytest.approx(20 + 64 + 2)
