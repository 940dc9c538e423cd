"""A day of one machine: requests come at random, some are computed at the same time, the others wait."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from reame_bench.simulate.costs import Company

Numbers = NDArray[np.float64]

_OFFICE = (
    *(0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.4, 1.0, 2.0, 2.4, 2.4, 2.2),
    *(1.4, 1.9, 2.3, 2.2, 1.8, 1.2, 0.7, 0.5, 0.3, 0.2, 0.2, 0.2),
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


def simulate_day(per_day: float, seconds: Numbers, company: Company, seed: int = 1) -> Day:
    """``per_day`` requests on average, each taking one of the measured ``seconds`` alone. All that are
    computed at once advance equally; ``company`` says how much in all."""
    rng = np.random.default_rng(seed)
    arrivals = _arrivals(per_day, rng)
    demand = rng.choice(seconds, len(arrivals))
    return _serve(arrivals, demand, company)


def _arrivals(per_day: float, rng: np.random.Generator) -> Numbers:
    hours = np.array(_OFFICE) / sum(_OFFICE)
    counts = rng.poisson(per_day * hours)
    times = [3600.0 * (hour + rng.random(count)) for hour, count in enumerate(counts)]
    return np.sort(np.concatenate(times))


def _serve(arrivals: Numbers, demand: Numbers, company: Company) -> Day:
    """All that are computed at once advance equally, so it is enough to count how far one that is there from
    the beginning would be (``progress``), and at which count each ends."""
    if not len(arrivals):
        return Day(0, 0.0, 0.0, 0.0)
    rates = [0.0, *(company.gain(users) / users for users in range(1, company.most + 1))]
    times, needs = arrivals.tolist(), demand.tolist()
    waiting: deque[int] = deque()
    running: list[tuple[float, int]] = []
    answered = np.zeros(len(times))
    now = busy = progress = 0.0
    coming = 0
    while coming < len(times) or running:
        rate = rates[len(running)]
        ends = now + (running[0][0] - progress) / rate if running else inf
        arrives = times[coming] if coming < len(times) else inf
        moment = min(ends, arrives)
        progress += (moment - now) * rate
        busy += moment - now if running else 0.0
        now = moment
        if arrives <= ends:
            waiting.append(coming)
            coming += 1
        else:
            _, number = heappop(running)
            answered[number] = now - times[number]
        while waiting and len(running) < company.most:
            number = waiting.popleft()
            heappush(running, (progress + needs[number], number))
    return Day(
        len(times), float(answered.mean()), float(np.percentile(answered, 95)), busy / max(86_400.0, now)
    )


def capacity(seconds: Numbers, company: Company, patience: float) -> Day:
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
