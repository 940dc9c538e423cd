"""A day of one machine: requests come at random, some are computed at the same time, the others wait."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reame_bench.simulate.costs import Company

_OFFICE = (
    0.2,
    0.2,
    0.2,
    0.2,
    0.2,
    0.3,
    0.5,
    1.0,
    2.0,
    2.4,
    2.4,
    2.2,
    1.6,
    2.0,
    2.3,
    2.2,
    1.9,
    1.4,
    0.9,
    0.6,
    0.4,
    0.3,
    0.3,
    0.3,
)
"""Requests in each hour, relative to the mean: 24 in all."""


@dataclass(frozen=True, slots=True)
class Day:
    """What came of it. Seconds from a request to its answer."""

    requests: int
    mean: float
    nearly_all: float
    """95 % were answered within."""
    busy: float
    """Share of the day in which anything was computed."""


def simulate_day(per_day: float, seconds: np.ndarray, company: Company, seed: int = 1) -> Day:
    """``per_day`` requests on average, each taking one of the measured ``seconds`` alone. All that are
    computed at once advance equally; ``company`` says how much in all."""
    rng = np.random.default_rng(seed)
    arrivals = _arrivals(per_day, rng)
    demand = rng.choice(seconds, len(arrivals))
    return _serve(arrivals, demand, company)


def _arrivals(per_day: float, rng: np.random.Generator) -> np.ndarray:
    hours = np.array(_OFFICE) / sum(_OFFICE)
    counts = rng.poisson(per_day * hours)
    times = [3600.0 * (hour + rng.random(count)) for hour, count in enumerate(counts)]
    return np.sort(np.concatenate(times))


def _serve(arrivals: np.ndarray, demand: np.ndarray, company: Company) -> Day:
    waiting: deque[int] = deque()
    left: dict[int, float] = {}
    answered = np.zeros(len(arrivals))
    now = busy = 0.0
    coming = 0
    while coming < len(arrivals) or left:
        rate = company.gain(len(left)) / len(left) if left else 0.0
        ends = now + min(left.values()) / rate if left else float("inf")
        arrives = arrivals[coming] if coming < len(arrivals) else float("inf")
        moment = float(min(ends, arrives))
        for number in left:
            left[number] -= (moment - now) * rate
        busy += moment - now if left else 0.0
        now = moment
        if arrives <= ends:
            waiting.append(coming)
            coming += 1
        else:
            first = min(left, key=lambda number: left[number])
            del left[first]
            answered[first] = now - arrivals[first]
        while waiting and len(left) < company.most:
            number = waiting.popleft()
            left[number] = float(demand[number])
    if not len(arrivals):
        return Day(0, 0.0, 0.0, 0.0)
    return Day(
        len(arrivals), float(answered.mean()), float(np.percentile(answered, 95)), busy / max(86_400.0, now)
    )


def capacity(seconds: np.ndarray, company: Company, patience: float) -> Day:
    """The fullest day on which 95 % of all answers come within ``patience`` seconds, to a few percent."""
    low, high = 1.0, 2.0 * 86_400 * company.gain(company.most) / float(seconds.mean())
    best = simulate_day(low, seconds, company)
    while high / low > 1.03:
        middle = (low * high) ** 0.5
        day = simulate_day(middle, seconds, company)
        if day.nearly_all <= patience:
            low, best = middle, day
        else:
            high = middle
    return best
