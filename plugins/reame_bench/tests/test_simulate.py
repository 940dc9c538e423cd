from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_bench.results import Results, Unit
from reame_bench.simulate.command import as_markdown, euros_for_thousand
from reame_bench.simulate.costs import Company, demands
from reame_bench.simulate.day import _serve, capacity, simulate_day

from tests.engine.support import thorough

ALONE = Company([1], [1.0])
FOUR = Company([1, 2, 4], [1.0, 1.5, 2.0])


def test_one_after_another() -> None:
    day = _serve(np.array([0.0, 1.0, 100.0]), np.array([10.0, 10.0, 10.0]), ALONE)
    # The second one waits for the first: 20 - 1 seconds.
    assert day.mean == pytest.approx((10 + 19 + 10) / 3)
    assert day.busy == pytest.approx(30 / 86_400)


def test_company_shares_what_it_gains() -> None:
    day = _serve(np.array([0.0, 0.0]), np.array([10.0, 10.0]), FOUR)
    # Two at once do 1.5 times the work: 20 / 1.5 seconds for both.
    assert day.mean == pytest.approx(20 / 1.5)


@given(
    arrivals=st.lists(st.floats(0, 1000), min_size=1, max_size=30),
    demand=st.floats(0.1, 50),
)
@thorough(60)
def test_nobody_is_answered_sooner_than_alone_and_all_are_answered(
    arrivals: list[float], demand: float
) -> None:
    times = np.sort(np.array(arrivals))
    for company in (ALONE, FOUR):
        day = _serve(times, np.full(len(times), demand), company)
        assert day.requests == len(times)
        assert day.mean >= demand * 0.999
    alone, four = (_serve(times, np.full(len(times), demand), company) for company in (ALONE, FOUR))
    assert four.busy <= alone.busy * 1.001


def test_days_are_random_but_always_the_same() -> None:
    seconds = np.array([1.0, 2.0])
    assert simulate_day(500, seconds, FOUR) == simulate_day(500, seconds, FOUR)
    assert simulate_day(500, seconds, FOUR).requests == pytest.approx(500, rel=0.2)


def test_capacity_falls_with_the_time_a_request_takes() -> None:
    quick, slow = capacity(np.array([5.0]), FOUR, 20.0), capacity(np.array([50.0]), FOUR, 200.0)
    assert quick.requests > 8 * slow.requests
    assert quick.nearly_all <= 20.0
    assert 0.05 < quick.busy <= 1.0
    assert capacity(np.array([50.0]), ALONE, 200.0).requests < slow.requests


def test_costs_come_from_the_longest_curve(tmp_path) -> None:  # type: ignore[no-untyped-def]
    results = Results(None, {})
    for count, turn in ((4, 0), (12, 1)):
        curve = [10.0 / (1 + number) for number in range(count)]
        results.run.units.append(
            Unit(
                workload="triage",
                model="m",
                contestant="reame",
                round=turn,
                size="full",
                curves={"seconds": curve, "again seconds": [0.5] * count},
            )
        )
    results.run.units.append(
        Unit(
            workload="users",
            model="m",
            contestant="reame",
            round=0,
            size="full",
            figures={"users_1": 10, "users_4": 25},
        )
    )
    [demand] = demands(results.run, "reame")
    assert demand.cold == 10.0
    assert demand.repeated == 0.5
    assert [stage for stage, _ in demand.by_archive()] == [1, 3, 10]
    assert demand.mixed(0.5) < demand.steady
    company = Company.measured(results.run.units, "m", "reame")
    assert (company.gain(4), company.most) == (2.5, 4)
    assert company.gain(2) == pytest.approx(1.5)
    assert demands(results.run, "other") == []
    assert Company.measured(results.run.units, "other", "reame").gain(1) == 1.0


def test_a_thousand_requests_in_euros() -> None:
    assert euros_for_thousand(10_000) == pytest.approx(5 / 300)
    assert euros_for_thousand(0) == 0.0
    assert as_markdown(Results(None, {}).run).count("use case") == 2
