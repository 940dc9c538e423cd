"""What a measurement found, as an aligned table (valid Markdown) and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from reame_bench.figures import table as table

from bench.rounds import median


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure has to be: at least or at most ``limit``."""

    sense: Literal["≥", "≤"]
    limit: float

    def met(self, value: float) -> bool:
        return value >= self.limit if self.sense == "≥" else value <= self.limit


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, the median where there are several rounds. ``low`` and ``high`` are the extreme rounds."""

    name: str
    value: float
    unit: str = "×"
    low: float | None = None
    high: float | None = None
    target: Target | None = None

    @classmethod
    def of(cls, name: str, values: Sequence[float], unit: str = "×", target: Target | None = None) -> Figure:
        """The median of ``values`` with their extremes."""
        return cls(name, median(values), unit, min(values), max(values), target)

    @property
    def cells(self) -> tuple[str, ...]:
        spread = "" if self.low is None or self.high is None else f"{_short(self.low)} to {_short(self.high)}"
        wanted = verdict = ""
        if self.target is not None:
            wanted = f"{self.target.sense} {_short(self.target.limit)}"
            verdict = "yes" if self.target.met(self.value) else "NO"
        return self.name, f"{_short(self.value)} {self.unit}".rstrip(), spread, wanted, verdict


@dataclass(slots=True)
class Result:
    """All figures of one measurement on one model."""

    measurement: str
    model: str
    compares: str
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Lines below the table, and whatever else the JSON should not hold as a figure."""
    seconds: float = 0.0
    others_cpu: float = 0.0
    """Share of the machine that other processes took meanwhile."""
    disturbed: float = 0.0
    """The same of the worst run that was kept; above a few percent, repeat."""

    def as_text(self) -> str:
        heading = f"#### {self.measurement}: {self.model}"
        rows = [("figure", "median", "rounds", "target", "met"), *(f.cells for f in self.figures)]
        ending = (
            f"{self.seconds:.0f} s; other processes used {self.others_cpu:.0%} of the machine, "
            f"and {self.disturbed:.0%} during the worst run that was kept"
        )
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([heading, "", self.compares, "", *table(rows), "", *notes, f"- {ending}", ""])

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def _short(value: float) -> str:
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 2 else f"{value:.3f}"
