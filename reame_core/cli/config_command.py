"""``reame config``: the effective settings and where each comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from reame_core.cli.manual import Command
from reame_core.cli.options import model_options, plugin_options, sampling_options, settings_of
from reame_core.cli.table import write_table
from reame_core.cli.terminal import write

if TYPE_CHECKING:
    from reame_core.config import Settings


@click.command(cls=Command, short_help="Show the effective settings.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@sampling_options
@model_options
@plugin_options
@click.pass_context
def config(ctx: click.Context, *, as_json: bool) -> None:
    """Show every setting, its value and where that comes from: a flag, the environment, a file or the
    default. With the flags of "reame run" it shows what they change."""
    settings = settings_of(ctx)
    if as_json:
        write(json.dumps(_object(settings), ensure_ascii=False, indent=2, default=str) + "\n")
    else:
        write_table(
            ("SETTING", "VALUE", "ORIGIN"),
            [(line.key, line.text, str(line.origin)) for line in settings.shown()],
        )


def _object(settings: Settings) -> dict[str, object]:
    return {
        "file": str(settings.file) if settings.file else None,
        "settings": {
            line.key: {"value": line.value, "origin": line.origin.kind, "where": line.origin.detail or None}
            for line in settings.shown()
        },
    }
