"""``python -m bench publish``: what was measured, from its JSON files into the pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import msgspec
from reame_bench.report import marked, write_page, write_part
from reame_bench.results import Run
from reame_bench.results import read as read_run

from bench.measuring import FILE
from bench.report import Result
from reame_core.errors import UsageError


@dataclass(slots=True)
class Found:
    """What the files of one machine have."""

    host: dict[str, str]
    run: Run | None = None
    """Of `reame bench`."""
    suites: dict[str, dict[tuple[str, str], tuple[str, Result]]] = field(default_factory=dict)
    """Of `python -m bench`: (command, result) by suite, model and measurement."""


class _Report(msgspec.Struct):
    """A file of `python -m bench`."""

    suite: str
    command: str
    results: list[Result]


@click.command()
@click.argument("files", type=FILE, nargs=-1, required=True)
@click.option("--page", "pages", type=FILE, multiple=True, required=True, help="Repeatable.")
def publish(files: tuple[Path, ...], pages: tuple[Path, ...]) -> None:
    """Write what JSON FILES have, of `reame bench` and `python -m bench`, between the marks of pages.

    All of one machine. What is written takes the place of what was there, so give all files of the machine; of
    what is in several of them the last counts.
    """
    try:
        found = gathered(files)
        for page in pages:
            click.echo(f"{page}: {', '.join(written(page, found))}")
    except UsageError as error:
        raise click.ClickException(str(error)) from None


def gathered(files: Sequence[Path]) -> Found:
    """Raises UsageError for files of several machines, and for what is none of ours."""
    found: Found | None = None
    for file in files:
        content = _json(file)
        host = content["host"]
        if found is None:
            found = Found(host)
        elif found.host.get("cpu") != host.get("cpu"):
            machines = f"{file} was measured on {host.get('cpu')}, {files[0]} on {found.host.get('cpu')}"
            raise UsageError(f"{machines}: publish them apart")
        if "suite" in content:
            _add_report(found, file, content)
        else:
            _add_run(found, read_run(file))
    assert found is not None
    return found


def _json(file: Path) -> Mapping[str, Any]:
    try:
        content = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UsageError(f"{file} holds no results: {error}") from None
    if not isinstance(content.get("host"), dict):
        raise UsageError(f"{file} holds no results: it names no host")
    return content


def _add_report(found: Found, file: Path, content: Mapping[str, Any]) -> None:
    try:
        report = msgspec.convert(content, _Report)
    except msgspec.ValidationError as error:
        raise UsageError(f"{file} holds no results: {error}") from None
    suite = found.suites.setdefault(report.suite, {})
    for result in report.results:
        suite[result.model, result.measurement] = (report.command, result)


def _add_run(found: Found, run: Run) -> None:
    if found.run is None:
        found.run = run
        return
    units = {unit.key: unit for unit in [*found.run.units, *run.units]}
    found.run.units = list(units.values())
    found.run.extras |= run.extras


def written(page: Path, found: Found) -> list[str]:
    """Put everything of ``found`` that ``page`` has a place for there; the names of these places. Raises
    UsageError where there is none."""
    suites = [name for name in found.suites if marked(page, name)]
    for name in suites:
        write_part(page, name, found.host, _sections(found.suites[name].values()))
    parts = write_page(page, found.run) if found.run is not None else []
    if not suites and not parts:
        raise UsageError(f"{page} has no place for any of this")
    return [*suites, *parts]


def _sections(results: Iterable[tuple[str, Result]]) -> str:
    return "\n".join(f"{result.as_text().rstrip()}\n- `{command}`\n" for command, result in results)
