"""``reame list``: the models that have a name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from reame_core.cli.manual import Command
from reame_core.cli.models.environment import FOLDERS
from reame_core.cli.options import plugin_options, settings_of
from reame_core.cli.table import write_table
from reame_core.cli.terminal import note, write

if TYPE_CHECKING:
    from pathlib import Path

    from reame_core.models.catalogue import Catalogue, Entry
    from reame_core.models.catalogue.needs import Fit, Needs


@dataclass(frozen=True, slots=True)
class _Line:
    entry: Entry
    path: Path | None
    size: int | None
    needs: Needs | None
    fit: Fit
    rest: int
    """Bytes of an unfinished download."""

    @property
    def here(self) -> str:
        return "yes" if self.path is not None else "in part" if self.rest else "no"


@click.command(
    "list",
    cls=Command,
    short_help="List the models by name.",
    environment=FOLDERS,
    files=[
        ("~/.reame/models/", "models that were fetched or put there"),
        ("~/.config/reame/models.toml", "a catalogue of one's own"),
    ],
)
@click.option("--here", is_flag=True, help="Only those on this machine.")
@click.option("--fits", is_flag=True, help="Only those that fit the memory that is free.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@plugin_options
@click.pass_context
def list_models(ctx: click.Context, *, here: bool, fits: bool, as_json: bool) -> None:
    """List the catalogue and what is in the models folder: size, memory for one conversation, and whether that
    fits this machine now.

    Sizes and memory of models that are not here are estimates.
    """
    from reame_core.cli.models.names import catalogue_of
    from reame_core.host.memory import available_memory
    from reame_core.models.catalogue.needs import Fit

    catalogue = catalogue_of(settings_of(ctx))
    available = available_memory()
    lines = [_line(entry, catalogue, available) for entry in catalogue.all().values()]
    lines = [line for line in lines if (line.path or not here) and (line.fit is Fit.YES or not fits)]
    if as_json:
        write(json.dumps([_object(line) for line in lines], ensure_ascii=False, indent=2) + "\n")
    elif lines:
        headings = ("NAME", "HERE", "SIZE", "MEMORY", "FITS", "CONTEXT", "SUITS")
        write_table(headings, map(_row, lines))
    else:
        note("there is none; reame list shows all that can be fetched")


def _line(entry: Entry, catalogue: Catalogue, available: int) -> _Line:
    from reame_core.models.catalogue.needs import Fit, estimated_needs, needs_of_file

    path = catalogue.here(entry)
    needs = estimated_needs(entry.facts) if path is None else needs_of_file(path)
    rest = sum(part.stat().st_size for part in catalogue.unfinished(entry))
    return _Line(
        entry,
        path,
        _size(entry, path, needs),
        needs,
        Fit.UNKNOWN if needs is None else needs.fit(available),
        rest,
    )


def _size(entry: Entry, path: Path | None, needs: Needs | None) -> int | None:
    if path is None:
        return entry.facts.size
    return path.stat().st_size if needs is None else needs.weights


def _row(line: _Line) -> tuple[str, ...]:
    from reame_core.host.memory import byte_count

    facts = line.entry.facts
    return (
        line.entry.name,
        line.here,
        byte_count(line.size) if line.size is not None else "?",
        byte_count(line.needs.total) if line.needs is not None else "?",
        line.fit.value,
        str(facts.context or "?"),
        facts.suits or "",
    )


def _object(line: _Line) -> dict[str, object]:
    facts = line.entry.facts
    return {
        "name": line.entry.name,
        "source": line.entry.source.reference,
        "origin": line.entry.origin,
        "path": str(line.path) if line.path is not None else None,
        "size": line.size,
        "unfinished": line.rest,
        "memory": line.needs.total if line.needs is not None else None,
        "fits": line.fit.value,
        "quantisation": facts.quantisation,
        "parameters": facts.parameters,
        "context": facts.context,
        "licence": facts.licence,
        "suits": facts.suits,
    }
