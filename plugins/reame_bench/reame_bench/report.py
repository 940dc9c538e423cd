"""Results as Markdown, and where they go in a page: between two marker comments, and nowhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reame_bench.figures import Value, advantage, short, table, values
from reame_bench.profile.command import KEY as PROFILE
from reame_bench.profile.command import as_markdown as profile_table
from reame_bench.published import comparison
from reame_bench.simulate.command import KEY as SIMULATION
from reame_bench.simulate.command import as_markdown as simulation_tables
from reame_bench.targets import targets
from reame_bench.workloads.catalogue import WORKLOADS
from reame_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reame_bench.results import Run, Unit
    from reame_bench.workloads.workload import Metric, Workload

OURS = "reame"
_DISTURBED = 0.04


_ON = "Measured on "


def on_host(host: Mapping[str, str], text: str) -> str:
    """``text`` below a line that says where it was measured."""
    cores = host.get("cores", "").partition(",")[0]
    return f"{_ON}{', '.join(filter(None, (host.get('cpu', '?'), cores, _amx(host))))}.\n\n{text}"


def _amx(host: Mapping[str, str]) -> str:
    return "" if "flags" not in host else "with AMX" if "amx_int8" in host["flags"].split() else "without AMX"


def write_part(page: Path, name: str, host: Mapping[str, str], text: str) -> None:
    """Put what was measured on ``host`` in its place in ``page``, in place of what was measured there before.
    Raises UsageError where figures of another machine are there: they would be lost."""
    new = on_host(host, text)
    before = re.search(rf"<!-- begin {name} -->\s*({_ON}.*)\n", page.read_text(encoding="utf-8"))
    if before and before[1] != new.partition("\n")[0]:
        there = before[1].removeprefix(_ON).rstrip(".")
        raise UsageError(
            f"the marks `{name}` of {page} enclose figures of another machine, {there}: move them out first, "
            "below a heading of their own"
        )
    between_markers(page, name, new)


def between_markers(page: Path, name: str, text: str) -> None:
    """Put ``text`` into ``page`` between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``. Raises UsageError
    where the page has not each of them once."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    content = page.read_text(encoding="utf-8")
    if content.count(begin) != 1 or content.count(end) != 1 or content.index(begin) > content.index(end):
        raise UsageError(f"{page} must have {begin} and, below it, {end}, each once")
    head, rest = content.split(begin)
    tail = rest.split(end)[1]
    page.write_text(f"{head}{begin}\n\n{text.strip()}\n\n{end}{tail}", encoding="utf-8")


def marked(page: Path, name: str) -> bool:
    """Whether ``page`` has a place for ``name``."""
    return f"<!-- begin {name} -->" in page.read_text(encoding="utf-8")


def write_page(page: Path, run: Run) -> list[str]:
    """Put everything that ``run`` has into the places of ``page`` that are marked for it, and say which those
    are. Raises UsageError where there is none."""
    parts = {
        "host": host_table(run),
        "targets": targets(run),
        "workloads": workload_sections(run),
        "published": comparison(run),
    }
    if PROFILE in run.extras:
        parts[PROFILE] = profile_table(run)
    if SIMULATION in run.extras:
        parts[SIMULATION] = simulation_tables(run)
    parts = {name: text or "Nothing has been measured yet." for name, text in parts.items()}
    names = [name for name in parts if marked(page, name)]
    if not names:
        raise UsageError(
            f"{page} has none of the marks " + ", ".join(f"<!-- begin {name} -->" for name in parts)
        )
    for name in names:
        write_part(page, name, run.host, parts[name])
    return names


def host_table(run: Run) -> str:
    """The machine."""
    return "\n".join(table([("host", ""), *run.host.items()]))


def workload_sections(run: Run, size: str | None = None) -> str:
    """A section for each workload that has units of this ``size``, or of any: a table a model and size."""
    sections = []
    for workload in WORKLOADS:
        units = [each for each in run.units if each.workload == workload.name and size in (None, each.size)]
        if units:
            sections.append(_section(workload, units))
    return "\n\n".join(sections)


def _section(workload: Workload, units: list[Unit]) -> str:
    lines = [f"#### {workload.title} (`{workload.name}`)", "", workload.question, ""]
    groups: dict[tuple[str, str], list[Unit]] = {}
    for unit in units:
        groups.setdefault((unit.model, unit.size), []).append(unit)
    for each in groups.values():
        lines += [*_model_table(workload, each), ""]
    return "\n".join(lines).strip()


def _model_table(workload: Workload, units: list[Unit]) -> list[str]:
    """Metrics down, contestants across; the last column is ours against the best other."""
    names = list(dict.fromkeys(unit.contestant for unit in units if unit.figures))
    rows: list[list[str]] = [[f"{units[0].model}, {units[0].size}", "unit", *names, "ours / best other"]]
    for metric in workload.metrics:
        found = values(units, metric)
        if found:
            cells = [found[name].cell() if name in found else "" for name in names]
            rows.append([metric.title, metric.unit, *cells, _against_best(found, metric)])
    lines = table(rows) if names else []
    notes = {f"{unit.contestant}: {note}": None for unit in units for note in unit.notes}
    notes |= {f"{unit.contestant}: {unit.problem}": None for unit in units if unit.problem}
    for unit in units:
        if unit.others_cpu > _DISTURBED:
            notes[
                f"{unit.contestant}, round {unit.round + 1}: others used {unit.others_cpu:.0%} of the machine"
            ] = None
    commands = dict.fromkeys(f"`{unit.command}`" for unit in units if unit.command)
    return [*lines, "", *(f"- {note}" for note in notes), f"- {', '.join(commands)}"]


def _against_best(found: dict[str, Value], metric: Metric) -> str:
    """How many times better ours is than the best of those that are not Reame."""
    others = [value for name, value in found.items() if not name.startswith(OURS)]
    if OURS not in found or not others:
        return ""
    best = (max if metric.better == "more" else min)(others, key=lambda value: value.median)
    factor = advantage(found[OURS], best, metric)
    return f"{short(factor)} × better" if factor >= 1 else f"{short(factor)} × (worse)"
