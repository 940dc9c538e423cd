"""The figures of the C++ original beside ours: ``published.toml`` against what was measured here."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from reame_bench.figures import short, table, values
from reame_bench.workloads.catalogue import BY_NAME

if TYPE_CHECKING:
    from reame_bench.results import Run

Figures = dict[str, dict[str, float]]
"""Medians by contestant and metric, of one workload."""


class Published(msgspec.Struct, forbid_unknown_fields=True):
    """One figure; see the head of ``published.toml``."""

    what: str
    machine: str
    published: str
    gain: float | None = None
    workload: str = ""
    time: tuple[str, str] | None = None
    rate: tuple[str, str] | None = None
    between: tuple[str, str] = ("reame", "reame")
    why_not: str = ""

    @property
    def shown(self) -> bool:
        return bool(self.workload)

    def ours(self, figures: Figures) -> tuple[float, str] | None:
        """Our improvement and what it is from and to; None where that was not measured."""
        keys = self.time or self.rate
        if keys is None:
            return None
        before, after = (figures.get(name, {}).get(key) for name, key in zip(self.between, keys, strict=True))
        if not before or not after:
            return None
        unit = "s" if self.time else "tokens/s"
        gain = before / after if self.time else after / before
        return gain, f"{short(before)} → {short(after)} {unit}"


def published() -> list[Published]:
    """All figures, in the order of the file."""
    text = files("reame_bench").joinpath("published.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, list[Published]])["figure"]


def comparison(run: Run) -> str:
    """A table for each model that was measured; then what cannot be shown, and why."""
    rows = published()
    sections = []
    for model in dict.fromkeys(unit.model for unit in run.units):
        lines = [["what", "published", "on", f"ours, {model}", "gain", "gain / published gain"]]
        lines += [_line(row, _figures(run, model, row.workload)) for row in rows if row.shown]
        sections.append("\n".join(table(lines)))
    missing = [["what", "published", "on", "why there is no figure of ours"]]
    missing += [[row.what, row.published, row.machine, row.why_not] for row in rows if not row.shown]
    return "\n\n".join([*sections, "Not shown here:", "\n".join(table(missing))])


def _line(row: Published, figures: Figures) -> list[str]:
    found = row.ours(figures)
    if found is None or row.gain is None:
        return [row.what, row.published, row.machine, "not measured", "", ""]
    gain, text = found
    return [row.what, row.published, row.machine, text, f"{short(gain)} ×", f"{short(gain / row.gain)} ×"]


def _figures(run: Run, model: str, workload: str) -> Figures:
    units = [each for each in run.units if (each.model, each.workload) == (model, workload)]
    found: Figures = {}
    for metric in BY_NAME[workload].metrics:
        for name, value in values(units, metric).items():
            found.setdefault(name, {})[metric.key] = value.median
    return found
