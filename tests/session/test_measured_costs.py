"""What batches cost is remembered from one start to the next, and what an older Reame wrote is not read."""

from __future__ import annotations

from typing import Any

import pytest

from reame_core.engine.batch_cost import BatchCost
from reame_core.host.state import HostState
from reame_core.measurements import HostMeasurements

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
