"""How much of the processors others use, from counters that a test moves."""

from __future__ import annotations

import pytest

from reame_core.host.neighbours import INTERVAL, Neighbours, ProcessorTimes, processor_times


class Counters:
    def __init__(self) -> None:
        self.now = 100.0
        self.times = ProcessorTimes(50.0, 20.0)
        self.neighbours = Neighbours(lambda: self.times, lambda: self.now)

    def after(self, seconds: float, *, busy: float, own: float) -> float | None:
        self.now += seconds
        self.times = ProcessorTimes(self.times.busy + busy, self.times.own + own)
        return self.neighbours.busy_cores()


def test_what_others_use_is_what_is_busy_without_ourselves() -> None:
    counters = Counters()
    assert counters.after(1, busy=1, own=0) is None, "there is nothing to compare with yet"
    assert counters.after(1, busy=2, own=1) == pytest.approx(1.0)
    assert counters.after(0.5, busy=1, own=1) == pytest.approx(0.0)
    assert counters.after(0.5, busy=0.9, own=0.95) == 0.0, "rounded counters never give less than nothing"


def test_looks_are_far_enough_apart_to_tell_something() -> None:
    counters = Counters()
    counters.after(1, busy=1, own=0)
    assert counters.after(INTERVAL / 2, busy=1, own=0) is None
    assert counters.after(INTERVAL / 2 + 1e-9, busy=0, own=0) == pytest.approx(1 / INTERVAL)


def test_what_happened_during_a_pause_says_nothing() -> None:
    counters = Counters()
    counters.after(1, busy=1, own=0)
    assert counters.after(60, busy=60, own=0) is None
    assert counters.after(1, busy=0, own=0) == 0.0


def test_the_real_counters_move_with_our_own_work() -> None:
    before = processor_times()
    while (now := processor_times()).own < before.own + 0.05:
        sum(range(10_000))
    assert now.busy >= before.busy
