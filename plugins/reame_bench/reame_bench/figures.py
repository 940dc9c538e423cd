"""Medians, spread and ratios of what the rounds gave, as rows of tables."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reame_bench.results import Unit
    from reame_bench.workloads.workload import Metric


@dataclass(frozen=True, slots=True)
class Value:
    """A metric of one contestant: the median of the rounds and the extreme ones."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Value:
        return cls(median(values), min(values), max(values))

    def cell(self) -> str:
        spread = f" ({short(self.low)} to {short(self.high)})" if self.low != self.high else ""
        return short(self.median) + spread


def values(units: Iterable[Unit], metric: Metric) -> dict[str, Value]:
    """By contestant, of ``units`` of one workload and model. Those without the figure are absent."""
    found: dict[str, list[float]] = {}
    for unit in units:
        if metric.key in unit.figures:
            found.setdefault(unit.contestant, []).append(unit.figures[metric.key])
    return {name: Value.of(each) for name, each in found.items()}


def advantage(ours: Value, other: Value, metric: Metric) -> float:
    """How many times better ours is; below 1 it is worse. 0 where one of them is nothing."""
    a, b = (ours.median, other.median) if metric.better == "more" else (other.median, ours.median)
    return a / b if b else 0.0


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    """An aligned Markdown table; the first row is its head."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return lines


def short(value: float) -> str:
    """Three digits or so."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3f}"
