"""The figures of the C++ original beside ours: ``published.toml`` against what was measured here."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from reame_bench.figures import short, table, values
from reame_bench.workloads.catalogue import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    figure: str = ""
    """The metric that stands beside it where there is no gain to compare, as of another machine's speed."""
    between: tuple[str, str] = ("reame", "reame")
    why_not: str = ""

    @property
    def shown(self) -> bool:
        return bool(self.workload)

    @property
    def keys(self) -> tuple[str, ...]:
        """Of the metrics it needs."""
        return self.time or self.rate or (self.figure,)

    def cells(self, figures: Figures) -> list[str] | None:
        """What is ours, the gain, and that gain by the published one; None where that was not measured."""
        if self.figure:
            value = figures.get(self.between[0], {}).get(self.figure)
            return None if value is None else [f"{short(value)} tokens/s", "", ""]
        found = self._gain(figures)
        if found is None or self.gain is None:
            return None
        gain, text = found
        return [text, f"{short(gain)} ×", f"{short(gain / self.gain)} ×"]

    def _gain(self, figures: Figures) -> tuple[float, str] | None:
        """Our improvement and what it is from and to."""
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
    """A table for each model that has any of the figures; which commands measure the others; then what cannot
    be shown, and why."""
    rows = published()
    shown = [row for row in rows if row.shown]
    sections = []
    for model in _models(run, shown) or [_MODEL]:
        lines = [["what", "published", "on", f"ours, {model}", "gain", "gain / published gain"]]
        lines += [_line(row, _figures(run, model, row.workload)) for row in shown]
        sections.append("\n".join(table(lines)))
        missing = _missing(run, model, shown)
        if missing:
            sections.append("To be measured, alone on the machine:\n\n" + "\n".join(table(missing)))
    hidden = [["what", "published", "on", "why there is no figure of ours"]]
    hidden += [[row.what, row.published, row.machine, row.why_not] for row in rows if not row.shown]
    return "\n\n".join([*sections, "Not shown here:", "\n".join(table(hidden))])


def _models(run: Run, rows: Sequence[Published]) -> list[str]:
    """Those with a figure of ours."""
    names = dict.fromkeys(unit.model for unit in run.units)
    return [
        name for name in names if any(row.cells(_figures(run, name, row.workload)) is not None for row in rows)
    ]


def _line(row: Published, figures: Figures) -> list[str]:
    ours = row.cells(figures) or [f"not measured (`{row.workload}`)", "", ""]
    return [row.what, row.published, row.machine, *ours]


def _missing(run: Run, model: str, rows: Sequence[Published]) -> list[list[str]]:
    """The workload and the command for what ``model`` has no figure of; nothing where it has all."""
    wanted: dict[str, set[str]] = {}
    for row in rows:
        if row.cells(_figures(run, model, row.workload)) is None:
            wanted.setdefault(row.workload, set()).update(row.between)
    lines = [[workload, f"`{_command(workload, model, names)}`"] for workload, names in wanted.items()]
    return [["workload", "command"], *lines] if lines else []


def _command(workload: str, model: str, contestants: set[str]) -> str:
    words = ["reame bench", model, "--full --rounds 1 --only", workload]
    words += [_OPTIONS[name] for name in sorted(contestants)]
    return " ".join([*words, "--json results.json"])


_MODEL = "qwen2.5-coder-1.5b"
_OPTIONS = {
    "reame": "--server reame",
    "reame without plugins": "--server reame:",
    "reame, draft model": "--draft DRAFT.gguf",
    "reame, store": "--store redis://127.0.0.1",
}
"""How a contestant is asked for."""


def _figures(run: Run, model: str, workload: str) -> Figures:
    units = [each for each in run.units if (each.model, each.workload) == (model, workload)]
    found: Figures = {}
    for metric in BY_NAME[workload].metrics:
        for name, value in values(units, metric).items():
            found.setdefault(name, {})[metric.key] = value.median
    return found
