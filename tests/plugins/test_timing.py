"""What is known of how long calls take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame_core.errors import InvalidRequest
from reame_core.plugins import guard
from reame_core.plugins.guard import GuardedCall
from reame_core.plugins.timing import Timing


@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=300), st.floats(0, 0.999))
def test_quantiles_are_at_most_an_eighth_off(durations: list[int], share: float) -> None:
    timing = Timing()
    for each in durations:
        timing.add(each)
    exact = sorted(durations)[min(len(durations) - 1, int(len(durations) * share))]
    assert timing.quantile(share) == pytest.approx(exact, rel=0.13, abs=1.1)
    assert timing.calls == len(durations)
    assert timing.nanoseconds == sum(durations)
    assert timing.longest == max(durations)
    assert timing.mean == pytest.approx(np.mean(durations))


def test_before_the_first_call() -> None:
    assert (Timing().mean, Timing().quantile(0.99)) == (0, 0)


@pytest.fixture
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at it is a microsecond later."""
    now = iter(range(0, 10**9, 1000))
    monkeypatch.setattr(guard, "perf_counter_ns", lambda: next(now))


def refuse() -> None:
    raise InvalidRequest("no")


@pytest.mark.usefixtures("_clock")
def test_every_call_is_timed_those_that_fail_too() -> None:
    def divide(number: int) -> float:
        return 1 / number

    call = GuardedCall("p", "persist", divide)
    assert call(1) == 1
    assert call(0) is None
    assert call.unguarded(2) == 0.5
    with pytest.raises(ZeroDivisionError):
        call.unguarded(0)
    refusing = GuardedCall("p", "serve_fields", refuse)
    with pytest.raises(InvalidRequest):
        refusing()
    for timing, calls in ((call.timing, 4), (refusing.timing, 1)):
        assert (timing.calls, timing.nanoseconds, timing.longest) == (calls, calls * 1000, 1000)


@pytest.mark.usefixtures("_clock")
def test_what_is_switched_off_is_not_called_and_costs_nothing(caplog: Any) -> None:
    call = GuardedCall("p", "persist", lambda: 1 / 0)
    for _ in range(10):
        call()
    assert call.timing.calls == 3
