"""Results as pictures: learning curves, and one bar chart a workload."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from reame_bench.figures import values
from reame_bench.workloads.catalogue import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from reame_bench.figures import Value
    from reame_bench.results import Run, Unit
    from reame_bench.simulate.command import Case

_COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#edae49", "#8d6a9f", "#5c6b73", "#2e4057")
_AROUND = 5


def draw(run: Run, size: str, folder: Path, suffix: str = "png") -> list[Path]:
    """Every picture that the units of ``size`` give; their files."""
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    groups: dict[tuple[str, str], list[Unit]] = {}
    for unit in run.units:
        if unit.size == size and unit.figures and unit.workload in BY_NAME:
            groups.setdefault((unit.workload, unit.model), []).append(unit)
    for (workload, model), units in groups.items():
        path = folder / f"{workload}-{model}.{suffix}"
        (_curve if "seconds" in units[0].curves else _bars)(units, path)
        made.append(path)
    return made


def draw_archive(cases: Sequence[Case], folder: Path, suffix: str = "png") -> list[Path]:
    """Seconds of a request by the size of the archive: a picture a model, a line a use case and server."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for model in dict.fromkeys(case.model for case in cases):
        figure, axes = _figure(1, 8, 5)
        axis = axes[0]
        for colour, case in zip(_COLOURS * 4, [each for each in cases if each.model == model], strict=False):
            label = f"{case.use_case}, {case.contestant}"
            axis.plot(*zip(*case.archive, strict=True), "o-", color=colour, label=label)
        stages = sorted({stage for case in cases for stage, _ in case.archive})
        axis.set_xscale("log")
        axis.set_xticks(stages, [f"{stage:,}" for stage in stages])
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
        axis.set_xlabel("request")
        axis.set_ylabel("seconds a request, from there on")
        axis.grid(alpha=0.25)
        axis.legend(frameon=False, fontsize=8)
        axis.set_title(f"What a request costs, {model}")
        made.append(folder / f"archive-{model}.{suffix}")
        figure.savefig(made[-1], dpi=110)
    return made


def _figure(columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A picture of panels beside each other."""
    # Not pyplot: it wants a display's backend and keeps every figure alive.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def _curve(units: list[Unit], path: Path) -> None:
    """Time, first token and processor time of each request over both passes."""
    figure, axes = _figure(3, 15, 4.6)
    panels = (
        ("seconds", "seconds a request"),
        ("first token", "seconds to the first token"),
        ("CPU-s", "CPU-seconds"),
    )
    for axis, (key, label) in zip(axes, panels, strict=True):
        curves = list(zip(_COLOURS, _first_rounds(units).items(), strict=False))
        # A first pass that time has cut short ends where no other does.
        same = len({len(each.curves.get(key, [])) for _, (_, each) in curves}) == 1
        for colour, (name, each) in curves:
            first, again = each.curves.get(key, []), each.curves.get(f"again {key}", [])
            _points(axis, first, 1, colour, name)
            _points(axis, again, len(first) + 1, colour)
            line = "#999999" if same else colour
            axis.axvline(len(first) + 0.5, color=line, linewidth=0.8, linestyle=":")
        axis.set_ylim(bottom=0)
        axis.set_xlabel("request (from the dotted line on: the same ones again)")
        axis.set_title(label)
        axis.grid(alpha=0.25)
    axes[0].legend(frameon=False)
    figure.suptitle(f"{BY_NAME[units[0].workload].title}, {units[0].model}")
    figure.savefig(path, dpi=110)


def _points(axis: Axes, points: list[float], start: int, colour: str, name: str | None = None) -> None:
    """Every request, and the median of those around it; the first one of all is by itself."""
    numbers = range(start, start + len(points))
    axis.plot(numbers, points, ".", color=colour, alpha=0.3, markersize=3)
    begin = 1 if start == 1 else 0
    middles = [
        median(points[max(begin, place - _AROUND) : place + _AROUND + 1]) for place in range(begin, len(points))
    ]
    axis.plot(numbers, [*points[:begin], *middles], color=colour, label=name)


def _first_rounds(units: Iterable[Unit]) -> dict[str, Unit]:
    found: dict[str, Unit] = {}
    for unit in units:
        found.setdefault(unit.contestant, unit)
    return found


def _bars(units: list[Unit], path: Path) -> None:
    """One panel for each unit of measurement, a group of bars for each metric."""
    metrics = [metric for metric in BY_NAME[units[0].workload].metrics if values(units, metric)]
    names = list(dict.fromkeys(unit.contestant for unit in units))
    kinds = list(dict.fromkeys(metric.unit for metric in metrics))
    figure, axes = _figure(len(kinds), 5.2 * len(kinds) + 1.5, 4.6)
    for axis, kind in zip(axes, kinds, strict=True):
        shown = [metric for metric in metrics if metric.unit == kind]
        _group(axis, names, [(metric.title, values(units, metric)) for metric in shown])
        axis.set_title(kind + (" (more is better)" if shown[0].better == "more" else " (less is better)"))
    axes[0].legend(frameon=False)
    figure.suptitle(f"{BY_NAME[units[0].workload].title}, {units[0].model}")
    figure.savefig(path, dpi=110)


def _group(axis: Axes, names: list[str], groups: Sequence[tuple[str, dict[str, Value]]]) -> None:
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        places = [index + (number - (len(names) - 1) / 2) * width for index in range(len(groups))]
        found = [each.get(name) for _, each in groups]
        heights = [value.median if value else 0.0 for value in found]
        below = [value.median - value.low if value else 0.0 for value in found]
        above = [value.high - value.median if value else 0.0 for value in found]
        axis.bar(places, heights, width, color=_COLOURS[number % len(_COLOURS)], label=name)
        axis.errorbar(places, heights, [below, above], fmt="none", ecolor="#333333", elinewidth=0.8)
    axis.set_xticks(range(len(groups)), [_folded(title) for title, _ in groups], fontsize=8)
    axis.grid(axis="y", alpha=0.25)


def _folded(text: str) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, 16))
