"""The circuit breaker by a clock that only moves when told to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from reame_arca.breaker import CircuitBreaker

from reame_core.testing import FakeClock


def opened(clock: FakeClock, **settings: float) -> CircuitBreaker:
    breaker = CircuitBreaker(clock, **settings)  # type: ignore[arg-type]
    while breaker.closed:
        breaker.failed()
    return breaker


def test_it_opens_at_the_third_failure_among_the_latest_questions() -> None:
    breaker = CircuitBreaker(FakeClock(), failures=3, window=6)
    for _ in range(2):
        assert not breaker.failed()
    for _ in range(3):
        breaker.succeeded()
    assert breaker.closed
    assert breaker.failed()
    assert not breaker.closed
    assert breaker.opened == 1


def test_failures_that_are_long_past_do_not_count() -> None:
    breaker = CircuitBreaker(FakeClock(), failures=2, window=4)
    breaker.failed()
    for _ in range(4):
        breaker.succeeded()
    assert not breaker.failed()
    assert breaker.closed


def test_probes_wait_longer_after_each_wrong_one_up_to_a_limit() -> None:
    clock = FakeClock()
    breaker = opened(clock, pause_s=1, longest_pause_s=5)
    pauses = []
    for _ in range(5):
        seconds = breaker.seconds_to_probe()
        assert seconds is not None
        pauses.append(seconds)
        clock.now += seconds
        assert breaker.seconds_to_probe() == 0
        assert not breaker.probed(False)
    assert pauses == [1, 2, 4, 5, 5]


def test_it_closes_after_good_probes_in_a_row_only() -> None:
    breaker = opened(FakeClock(), good_probes=2)
    assert not breaker.probed(True)
    assert not breaker.probed(False)
    assert not breaker.probed(True)
    assert breaker.probed(True)
    assert breaker.closed
    assert breaker.seconds_to_probe() is None


def test_it_begins_anew_once_it_is_closed() -> None:
    clock = FakeClock()
    breaker = opened(clock, pause_s=1)
    breaker.probed(False)
    breaker.probed(True)
    breaker.probed(True)
    assert not breaker.failed(), "what went wrong before counts no more"
    while breaker.closed:
        breaker.failed()
    assert breaker.seconds_to_probe() == 1
    assert breaker.opened == 2


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 5), st.integers(5, 20))
def test_it_is_open_exactly_when_enough_of_the_latest_answers_were_wrong(
    answers: list[bool], failures: int, window: int
) -> None:
    breaker = CircuitBreaker(FakeClock(), failures=failures, window=window)
    for number, good in enumerate(answers):
        if good:
            breaker.succeeded()
        else:
            breaker.failed()
        latest = answers[max(0, number + 1 - window) : number + 1]
        if not breaker.closed:
            assert latest.count(False) >= failures
            return
        assert latest.count(False) < failures
