"""What Reame is to show on a model of 1.5 billion parameters and two cores, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal

from reame_bench.figures import short, table

if TYPE_CHECKING:
    from reame_bench.results import Run, Unit

_OURS = "reame"
_NOT_OTHERS = "reame"
"""Contestants whose names begin so are Reame in another configuration."""


@dataclass(frozen=True, slots=True)
class Target:
    """``found`` gives the figure, None where it was not measured."""

    what: str
    sense: Literal["≤", "≥"]
    limit: float
    found: Callable[[Run, str], float | None]


def _ours(workload: str, key: str) -> Callable[[Run, str], float | None]:
    return lambda run, model: _figure(run, model, workload, _OURS, key)


def _against_best(
    workload: str, key: str, best: Callable[[list[float]], float]
) -> Callable[[Run, str], float | None]:
    """Our figure divided by the best one of all other servers."""

    def found(run: Run, model: str) -> float | None:
        names = {unit.contestant for unit in run.units if not unit.contestant.startswith(_NOT_OTHERS)}
        others = [_figure(run, model, workload, name, key) for name in names]
        measured = [value for value in others if value]
        ours = _figure(run, model, workload, _OURS, key)
        return ours / best(measured) if ours is not None and measured else None

    return found


TARGETS = (
    Target("triage: mean of the last ten requests / request 1", "≤", 0.20, _ours("triage", "share")),
    Target("the same mean / that of the best other server", "≤", 0.60, _against_best("triage", "last", min)),
    Target(
        "its processor seconds / those of the best other server",
        "≤",
        0.60,
        _against_best("triage", "cpu_last", min),
    ),
    Target("triage, second pass: mean / request 1", "≤", 0.10, _ours("triage", "again_share")),
    Target(
        "all at once, new invoices: answers a minute / the best other server's",
        "≥",
        2.5,
        _against_best("together", "answers", max),
    ),
    Target(
        "all at once, known invoices: answers a minute / the best other server's",
        "≥",
        2.5,
        _against_best("together", "again_answers", max),
    ),
)


def targets(run: Run) -> str:
    """A table for each model with its curves; by the longest curve that each server has."""
    sections = []
    for model in dict.fromkeys(unit.model for unit in run.units if unit.workload == "triage"):
        requests = max((_length(unit) for unit in run.units if _is_ours(unit, model)), default=0)
        rows = [[f"{model}, {requests} requests", "wanted", "found", "met"]]
        for target in TARGETS:
            value = target.found(run, model)
            met = "" if value is None else "yes" if _met(target, value) else "NO"
            shown = "not measured" if value is None else short(value)
            rows.append([target.what, f"{target.sense} {short(target.limit)}", shown, met])
        sections.append("\n".join(table(rows)))
    return "\n\n".join(sections)


def _met(target: Target, value: float) -> bool:
    return value <= target.limit if target.sense == "≤" else value >= target.limit


def _figure(run: Run, model: str, workload: str, contestant: str, key: str) -> float | None:
    units = [
        unit
        for unit in run.units
        if (unit.model, unit.workload, unit.contestant) == (model, workload, contestant) and key in unit.figures
    ]
    if not units:
        return None
    longest = max(units, key=_length)
    return median(unit.figures[key] for unit in units if unit.size == longest.size)


def _is_ours(unit: Unit, model: str) -> bool:
    return (unit.model, unit.contestant, unit.workload) == (model, _OURS, "triage")


def _length(unit: Unit) -> int:
    return len(unit.curves.get("seconds", ()))
