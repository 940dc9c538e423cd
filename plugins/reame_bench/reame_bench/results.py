"""Results in a JSON file: one record a unit, written as soon as it is there, so that an interrupted run goes
on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from reame_core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_FORMAT = 1


class Unit(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One contestant on one workload, with one model, in one round."""

    workload: str
    model: str
    contestant: str
    round: int
    size: str
    figures: dict[str, float] = {}
    curves: dict[str, list[float]] = {}
    notes: list[str] = []
    problem: str = ""
    """Why there are no figures."""
    seconds: float = 0.0
    others_cpu: float = 0.0
    """Share of the machine that other processes used meanwhile."""
    resident_mb: float = 0.0
    facts: dict[str, object] = {}
    command: str = ""
    """What was typed, without the folders of this machine."""

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        return self.workload, self.model, self.contestant, self.round, self.size


class Run(msgspec.Struct):
    """Everything in the file. ``host`` is that of the first unit; another one is refused."""

    host: dict[str, str]
    units: list[Unit] = []
    extras: dict[str, object] = {}
    """Further findings by name: the profile, the cost model."""
    format: int = _FORMAT


class Results:
    """The file at ``path``, or nothing but memory where that is None."""

    def __init__(self, path: Path | None, host: dict[str, str]) -> None:
        self._path = path
        self.run = Run(host)
        if path is not None and path.exists():
            self.run = read(path)
            if self.run.host.get("cpu") != host.get("cpu"):
                raise UsageError(f"{path} was measured on another processor ({self.run.host.get('cpu')})")

    @property
    def done(self) -> set[tuple[str, str, str, int, str]]:
        """Keys of the units that need not run again: those with figures, and those that were not offered."""
        return {unit.key for unit in self.run.units}

    def add(self, unit: Unit) -> None:
        """Keep ``unit`` in place of an earlier one with its key. What is not a number is left out."""
        unit.figures = {key: value for key, value in unit.figures.items() if math.isfinite(value)}
        unit.curves = {key: curve for key, curve in unit.curves.items() if all(map(math.isfinite, curve))}
        self.run.units = [each for each in self.run.units if each.key != unit.key]
        self.run.units.append(unit)
        self.save()

    def save(self) -> None:
        """Replace the file in one step."""
        if self._path is None:
            return
        temporary = self._path.with_name(self._path.name + ".part")
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(self.run), indent=1) + b"\n")
        temporary.replace(self._path)


def read(path: Path) -> Run:
    """Raises UsageError for anything but a file of ours."""
    try:
        run = msgspec.json.decode(path.read_bytes(), type=Run)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} holds no results of reame bench: {error}") from None
    if run.format != _FORMAT:
        raise UsageError(f"{path} has format {run.format} of results; this version reads {_FORMAT}")
    return run
