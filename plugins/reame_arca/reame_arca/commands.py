"""``reame arca``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from reame_arca.wishes import LAYERS
from reame_core.cli.options import plugin_options, settings_of
from reame_core.cli.terminal import write

if TYPE_CHECKING:
    from collections.abc import Callable

    from reame_arca.options import Options


def _with_json(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


@click.group(short_help="Look after what servers share.")
def arca() -> None:
    """Look after what servers share: the store that plugins.arca.url names."""


@arca.command()
@_with_json
@plugin_options
@click.pass_context
def stats(ctx: click.Context, *, as_json: bool) -> None:
    """Show what is in the store, by layer."""
    from reame_arca.administration import open_store, use_of
    from reame_core.cli.table import write_table

    options = _options(ctx)
    with open_store(options) as client:
        use = use_of(client, options)
    if as_json:
        _write_json(asdict(use))
        return
    limit = f" of {_mb(use.max_bytes)}, then {use.policy}" if use.max_bytes else ", no limit"
    write(f"{use.address}: {use.server}, {_mb(use.used_bytes)}{limit}\n\n")
    write_table(
        ("LAYER", "KEYS", "MEMORY"), [(each.layer, f"{each.keys:,}", _mb(each.bytes)) for each in use.layers]
    )


@arca.command()
@click.option("--layer", type=click.Choice(LAYERS), help="Of this layer only.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_with_json
@plugin_options
@click.pass_context
def flush(ctx: click.Context, *, layer: str | None, yes: bool, as_json: bool) -> None:
    """Remove what is shared. Servers go on, and share anew."""
    from reame_arca.administration import flush as remove
    from reame_arca.administration import open_store

    options = _options(ctx)
    with open_store(options) as client:
        if not yes:
            what = "everything" if layer is None else f"all {layer}"
            click.confirm(f"Remove {what} below {options.prefix!r} in {options.address}?", abort=True, err=True)
        removed = remove(client, options, layer)
    if as_json:
        _write_json({"removed": removed})
    else:
        write(f"{removed:,} keys removed\n")
        if layer in (None, "generations"):
            write("what servers have archived already stays with them: reame palimpsest forget, on each\n")


@arca.command()
@_with_json
@plugin_options
@click.pass_context
def doctor(ctx: click.Context, *, as_json: bool) -> None:
    """Do with the store what servers do, and say what to mend. Exits with 1 where something is wrong."""
    from reame_arca.administration import examine, open_store

    options = _options(ctx)
    with open_store(options) as client:
        found = examine(client, options)
    if as_json:
        _write_json(asdict(found) | {"healthy": found.healthy, "address": options.address})
    else:
        write(f"{options.address}\n")
        for each in found.findings:
            write(f"{each.state:>7}  {each.what}: {each.text}\n")
    if not found.healthy:
        ctx.exit(1)


def _options(ctx: click.Context) -> Options:
    from reame_arca.options import read_options
    from reame_core.errors import ConfigError
    from reame_core.plugins.names import normalise

    tables = settings_of(ctx).values.plugins.tables
    names = ("arca", "reame-arca")
    options = read_options(next((table for name, table in tables.items() if normalise(name) in names), {}))
    if options.url is None:
        raise ConfigError('plugins.arca.url names no store: set it, such as to "redis://127.0.0.1"')
    return options


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


def _write_json(value: object) -> None:
    write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
