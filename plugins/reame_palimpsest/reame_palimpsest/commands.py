"""``reame palimpsest``: looking into an archive, deleting from it, taking it elsewhere."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reame_core.cli.options import plugin_options, settings_of
from reame_core.cli.terminal import write

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from reame_palimpsest.folders import TokenizerFolder
    from reame_palimpsest.limits import Limits

_DAY = 86_400


class _Where:
    """The archive that the settings speak of."""

    def __init__(self, ctx: click.Context) -> None:
        from reame_core.config.plugin_options import read_options
        from reame_core.plugins.names import normalise
        from reame_palimpsest.limits import Limits
        from reame_palimpsest.options import ArchiveOptions
        from reame_palimpsest.service import archive_folder

        tables = settings_of(ctx).values.plugins.tables
        table = next((table for name, table in tables.items() if normalise(name) == "palimpsest"), {})
        options = read_options("palimpsest", table, ArchiveOptions)
        self.root: Path = archive_folder(options)
        self.limits: Limits = Limits.of(options.max_size_mb, options.ttl_days)


def _with_json(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def _of_tenant(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--tenant", default="", metavar="NAME", help="Whose archive; the nameless one's.")(
        command
    )


@click.group(short_help="Look after the archive of generations.")
def palimpsest() -> None:
    """Look after the archive of generations that drafts are taken from."""


@palimpsest.command()
@_with_json
@plugin_options
@click.pass_context
def stats(ctx: click.Context, *, as_json: bool) -> None:
    """Show what the archive holds, by tokenizer and tenant."""
    from reame_core.cli.table import write_table
    from reame_palimpsest.folders import tokenizer_folders
    from reame_palimpsest.stored import holding

    root = _Where(ctx).root
    holdings = [holding(each, folder) for each in tokenizer_folders(root) for folder in each.tenants()]
    if as_json:
        _write_json({"folder": str(root), "archives": [asdict(each) for each in holdings]})
        return
    write_table(
        ("TOKENIZER", "MODELS", "TENANT", "GENERATIONS", "TOKENS", "MB", "OLDEST", "NEWEST"),
        [
            (
                each.tokenizer[:8],
                ", ".join(each.models),
                each.tenant[:8] or "(no name)",
                f"{each.generations:,}",
                f"{each.tokens:,}",
                f"{each.bytes / 1e6:.1f}",
                _date(each.oldest),
                _date(each.newest),
            )
            for each in holdings
        ],
    )


@palimpsest.command()
@click.option("--all", "everything", is_flag=True, help="Everything of everybody.")
@click.option("--tenant", metavar="NAME", help="Only what this tenant has; an empty name for the nameless one.")
@click.option("--before", metavar="DATE", help="Only what is older, such as 2026-01-31 or 2026-01-31T12:00.")
@click.option("--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Only what is older.")
@_with_json
@plugin_options
@click.pass_context
def forget(
    ctx: click.Context,
    *,
    everything: bool,
    tenant: str | None,
    before: str | None,
    older_than: float | None,
    as_json: bool,
) -> None:
    """Delete generations, by tenant, by age, or all. Running servers follow within seconds."""
    from reame_palimpsest.forgetting import forget as forget_generations

    if not everything and tenant is None and before is None and older_than is None:
        raise click.UsageError("say what to forget: --tenant, --before, --older-than or --all", ctx)
    if before is not None and older_than is not None:
        raise click.UsageError("--before and --older-than say the same thing: give one of them", ctx)
    now = time.time()
    up_to = _timestamp(before) - 1 if before is not None else int(now - (older_than or 0) * _DAY)
    where = _Where(ctx)
    done = forget_generations(where.root, up_to, tenant, where.limits)
    if as_json:
        _write_json(asdict(done))
        return
    write(f"{done.generations:,} generations forgotten\n")
    if done.living_logs:
        write(f"{done.living_logs} logs are being written: their servers forget within seconds\n")


@palimpsest.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_of_tenant
@click.option("--tokenizer", default="", metavar="PREFIX", help="Which, where there are several; see stats.")
@_with_json
@plugin_options
@click.pass_context
def export_command(ctx: click.Context, *, file: Path, tenant: str, tokenizer: str, as_json: bool) -> None:
    """Write a tenant's generations to FILE, for another server to import."""
    from reame_palimpsest.transfer import export_archive

    count = export_archive(_chosen(_Where(ctx).root, tokenizer), tenant, file)
    if as_json:
        _write_json({"generations": count, "bytes": file.stat().st_size})
    else:
        write(f"{count:,} generations, {file.stat().st_size / 1e6:.1f} MB\n")


@palimpsest.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_of_tenant
@_with_json
@plugin_options
@click.pass_context
def import_command(ctx: click.Context, *, file: Path, tenant: str, as_json: bool) -> None:
    """Add the generations that another server has exported to FILE."""
    from reame_palimpsest.budget import keep_within
    from reame_palimpsest.transfer import import_archive

    where = _Where(ctx)
    done = import_archive(file, where.root, tenant, where.limits)
    keep_within(where.root, where.limits.size)
    if as_json:
        _write_json(asdict(done))
        return
    damaged = f", {done.damaged:,} bytes damaged" if done.damaged else ""
    write(f"{done.added:,} generations added, {done.known:,} were there already{damaged}\n")


def _chosen(root: Path, prefix: str) -> TokenizerFolder:
    from reame_core.errors import UsageError
    from reame_palimpsest.folders import tokenizer_folders

    found = [each for each in tokenizer_folders(root) if each.tokenizer.startswith(prefix)]
    if len(found) != 1:
        names = ", ".join(f"{each.tokenizer[:8]} ({', '.join(each.models)})" for each in found)
        why = f"several tokenizers: choose one of {names} with --tokenizer" if found else "nothing of that kind"
        raise UsageError(f"the archive {root} holds {why}")
    return found[0]


def _timestamp(text: str) -> int:
    try:
        return int(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{text!r} is no date such as 2026-01-31", param_hint="--before") from None


def _date(seconds: int | None) -> str:
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"


def _write_json(value: object) -> None:
    write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
