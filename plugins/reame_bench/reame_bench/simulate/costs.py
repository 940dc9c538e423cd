"""The cost model: what a request takes, by how many were answered before, and what company saves. All of it
measured by the workloads; nothing here is assumed."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reame_bench.results import Run, Unit

USE_CASES = ("triage", "tagger", "invoices", "document")
_STEADY = 10
_STAGES = (1, 3, 10, 30, 100, 300, 1000)


@dataclass(frozen=True, slots=True)
class Demand:
    """Seconds of this machine that requests of one kind take, alone, in the order in which they came."""

    use_case: str
    model: str
    contestant: str
    seconds: tuple[float, ...]
    again: tuple[float, ...]
    """Those of the second pass: every request was answered before."""

    @property
    def cold(self) -> float:
        return self.seconds[0]

    @property
    def steady(self) -> float:
        """The mean of the last requests of the first pass."""
        return fmean(self.seconds[-_STEADY:])

    @property
    def repeated(self) -> float:
        return fmean(self.again) if self.again else self.steady

    def mixed(self, repeats: float) -> float:
        """Where this share of all requests was asked before, word for word."""
        return (1 - repeats) * self.steady + repeats * self.repeated

    def by_archive(self) -> list[tuple[int, float]]:
        """(answers in the archive, mean seconds of the requests about there)."""
        found = []
        for stage in _STAGES:
            if stage > len(self.seconds):
                break
            around = self.seconds[stage - 1 : max(stage, int(stage * 1.5))]
            found.append((stage, fmean(around)))
        return found


def demands(run: Run, contestant: str) -> list[Demand]:
    """One for each use case and model that was measured for ``contestant``, the longest curve of each."""
    best: dict[tuple[str, str], Unit] = {}
    for unit in run.units:
        if unit.workload in USE_CASES and unit.contestant == contestant and unit.curves.get("seconds"):
            key = unit.workload, unit.model
            if key not in best or len(unit.curves["seconds"]) > len(best[key].curves["seconds"]):
                best[key] = unit
    return [
        Demand(
            workload,
            model,
            contestant,
            tuple(unit.curves["seconds"]),
            tuple(unit.curves.get("again seconds", ())),
        )
        for (workload, model), unit in best.items()
    ]


class Company:
    """How much more a machine does when several requests are computed at the same time."""

    def __init__(self, users: Sequence[float], gain: Sequence[float]) -> None:
        self._users, self._gain = list(users), list(gain)

    @classmethod
    def measured(cls, units: Iterable[Unit], model: str, contestant: str) -> Company:
        """By the workload ``users``; without it, company saves nothing."""
        rates: dict[int, list[float]] = {}
        for unit in units:
            if (unit.workload, unit.model, unit.contestant) == ("users", model, contestant):
                for key, value in unit.figures.items():
                    if key.startswith("users_"):
                        rates.setdefault(int(key.removeprefix("users_")), []).append(value)
        if 1 not in rates:
            return cls([1], [1.0])
        alone = median(rates[1])
        counts = sorted(rates)
        return cls(counts, [median(rates[count]) / alone for count in counts])

    def gain(self, users: int) -> float:
        """Work done in a second by ``users`` at once, in units of one user's."""
        return float(np.interp(users, self._users, self._gain))

    @property
    def most(self) -> int:
        """More at once was not measured."""
        return int(self._users[-1])
