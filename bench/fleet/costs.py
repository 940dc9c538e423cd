"""What was measured: the times of requests on one server, and what goes to the store and comes from there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from reame_bench.results import read

from reame_core.errors import UsageError

WORKLOAD = "triage"
_SMOOTHED = 10
"""Requests of which a place of the learning curve is the mean: the noise of single tickets is none of the
archive."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of a server's time, and bytes on the network."""

    model: str
    cold_s: float
    """The first request of a server that knows nothing: it computes the instructions."""
    joining_s: float
    """The same where the store has them."""
    new_s: tuple[float, ...]
    """A later request that is new, by how many answers the archive has; the last one from there on."""
    repeated_s: float
    """One that the archive has."""
    first_bytes: float
    """Published by a server's first request."""
    later_bytes: float
    fetched_bytes: float
    """By the first request of a server that joins."""
    generation_bytes: float
    """Of an answer in the stream, for each reader."""

    def new(self, archived: int) -> float:
        """Seconds of a new request with so many answers in the archive."""
        return self.new_s[min(archived, len(self.new_s)) - 1]


def measured(curves: Path, traffic: Path) -> Costs:
    """From the files that ``reame bench --only triage`` and ``python -m bench arca --only traffic`` write with
    ``--json``. Raises UsageError."""
    units = [
        unit
        for unit in read(curves).units
        if unit.workload == WORKLOAD and unit.contestant == "reame" and unit.curves.get("again seconds")
    ]
    if not units:
        raise UsageError(f"{curves} has no curve: reame bench --only {WORKLOAD} --json {curves} MODEL")
    unit = max(units, key=lambda each: len(each.curves["seconds"]))
    seconds = unit.curves["seconds"]
    found = _figures(traffic, unit.model)
    # The two were measured apart, with drafts and without: the ratio carries over, the seconds need not.
    saved = found["request 1 of a server that joins"] / found["request 1"]
    return Costs(
        model=unit.model,
        cold_s=seconds[0],
        joining_s=saved * seconds[0],
        new_s=_learned(seconds[1:]),
        repeated_s=fmean(unit.curves["again seconds"]),
        first_bytes=1e6 * found["request 1: published"],
        later_bytes=1e6 * found["later requests: published"],
        fetched_bytes=1e6 * found["a server that joins: fetched"],
        generation_bytes=found["a generation in the stream"],
    )


def _learned(seconds: list[float]) -> tuple[float, ...]:
    places = range(max(1, len(seconds) - _SMOOTHED + 1))
    return tuple(fmean(seconds[place : place + _SMOOTHED]) for place in places)


def _figures(path: Path, model: str) -> dict[str, float]:
    try:
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        results = [each for each in report["results"] if each["measurement"] == "traffic"]
        wanted = [each for each in results if each["model"].lower() == model.lower()]
        found = {figure["name"]: float(figure["value"]) for each in wanted[-1:] for figure in each["figures"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no file of python -m bench arca --json: {error}") from None
    if not found:
        raise UsageError(f"{path} has no traffic of {model}: python -m bench arca --only traffic --json {path}")
    return found
