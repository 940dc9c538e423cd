"""``reame cache`` and ``reame warm``."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reame_core.cli.options import model_options, plugin_options, plugin_selection, settings_of
from reame_core.cli.terminal import note, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from reame_diskkv.options import Options


def _with_json(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


@click.group(short_help="Look after the prompts kept on disk.")
def cache() -> None:
    """Look after the prompts kept on disk."""


@cache.command()
@click.option("--days", "most_days", type=click.IntRange(1), default=7, show_default=True)
@_with_json
@plugin_options
@click.pass_context
def stats(ctx: click.Context, *, most_days: int, as_json: bool) -> None:
    """Show what is kept, by model, and what was written and read on the last days."""
    from reame_core.cli.table import write_table
    from reame_diskkv import reports
    from reame_diskkv.service import folder_of
    from reame_diskkv.upkeep import open_for_reading

    options = _options(ctx)
    with open_for_reading(options) as index:
        total = reports.totals(index)
        models, latest = reports.by_model(index), reports.days(index, most_days)
    folder, limit = folder_of(options), int(options.max_size_mb * 1e6)
    if as_json:
        found = {"folder": str(folder), "max_bytes": limit, "total": total}
        _write_json(found | {"models": [asdict(each) for each in models], "days": latest})
        return
    used = total["file_bytes"] + total["session_bytes"] + total["index_bytes"]
    blocks = f"{total['blocks']:,} blocks, {total['pinned']:,} pinned"
    write(f"{folder}\n{_mb(used)} of {_mb(limit)}, {blocks}\n\n")
    write_table(
        ("MODEL", "KV CACHE", "SHARED", "TOKENS", "BLOCKS", "ON DISK", "AS CELLS"),
        [
            (
                each.model,
                each.settings.get("kv_cache_type", ""),
                "yes" if each.shared else "no",
                f"{each.tokens:,}",
                f"{each.blocks:,}",
                _mb(each.file_bytes),
                _mb(each.raw_bytes),
            )
            for each in models
        ],
    )
    write("\n")
    write_table(
        ("DAY", "WRITTEN", "PROMPTS", "HITS", "TOKENS WANTED", "RESTORED"),
        [
            (
                day["day"],
                _mb(day["written_bytes"]),
                f"{day['lookups']:,}",
                _share(day["hits"], day["lookups"]),
                f"{day['wanted_tokens']:,}",
                _share(day["restored_tokens"], day["wanted_tokens"]),
            )
            for day in latest
        ],
    )


@cache.command("list")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Ends of texts to list.")
@_with_json
@plugin_options
@click.pass_context
def list_command(ctx: click.Context, *, limit: int, as_json: bool) -> None:
    """List the ends of the texts that are kept, the one used last first."""
    from reame_core.cli.table import write_table
    from reame_diskkv import reports
    from reame_diskkv.upkeep import open_for_reading

    with open_for_reading(_options(ctx)) as index:
        chains = list(reports.chains(index, limit))
    if as_json:
        _write_json([asdict(chain) for chain in chains])
        return
    now = time.time()
    write_table(
        ("BLOCK", "MODEL", "TOKENS", "USED", "PINNED"),
        [
            (each.key[:12], each.model, f"{each.tokens:,}", _ago(now - each.used), "yes" if each.pinned else "")
            for each in chains
        ],
    )


@cache.command()
@_with_json
@plugin_options
@click.pass_context
def verify(ctx: click.Context, *, as_json: bool) -> None:
    """Read every block and compare all its checksums. Damaged blocks are removed, and the exit code is 1."""
    from reame_diskkv import upkeep

    with upkeep.open_for_changing(_options(ctx)) as store:
        result = upkeep.verify(store)
    if as_json:
        _write_json(asdict(result))
    else:
        bad = f"{result.damaged:,} damaged and removed, {result.unreadable:,} unreadable"
        write(f"{result.blocks:,} blocks: {bad}\n")
    ctx.exit(1 if result.damaged or result.unreadable else 0)


@cache.command()
@click.option("--max-size-mb", type=click.FloatRange(min=0), help="Instead of plugins.diskkv.max_size_mb.")
@click.option("--unused-days", type=click.FloatRange(min=0), help="Instead of plugins.diskkv.ttl_days.")
@_with_json
@plugin_options
@click.pass_context
def prune(ctx: click.Context, *, max_size_mb: float | None, unused_days: float | None, as_json: bool) -> None:
    """Remove what was not used for long and what is above the size limit. Pinned texts stay."""
    from reame_diskkv.room import Limits
    from reame_diskkv.service import limits_of
    from reame_diskkv.upkeep import open_for_changing

    options = _options(ctx)
    limits = limits_of(options)
    limits = Limits(
        limits.max_bytes if max_size_mb is None else int(max_size_mb * 1e6),
        limits.ttl_seconds if unused_days is None else unused_days * 86_400,
    )
    with open_for_changing(options, limits) as store:
        store.expire()
        counts = store.counts
    _say_removed(counts.evicted + counts.expired, as_json=as_json)


@cache.command()
@click.option("--pinned", is_flag=True, help="Those that sessions keep, too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_with_json
@plugin_options
@click.pass_context
def clear(ctx: click.Context, *, pinned: bool, yes: bool, as_json: bool) -> None:
    """Remove everything, except what sessions keep."""
    from reame_diskkv import upkeep
    from reame_diskkv.service import folder_of

    options = _options(ctx)
    if not yes:
        click.confirm(f"Remove all blocks in {folder_of(options)}?", abort=True, err=True)
    with upkeep.open_for_changing(options) as store:
        removed = upkeep.clear(store, pinned=pinned)
    _say_removed(removed, as_json=as_json)


@cache.command()
@click.argument("model")
@click.argument("prompt", required=False)
@click.option("--system", metavar="TEXT", help="Instructions that come before the prompt.")
@click.option("--raw", is_flag=True, help="The prompt as it is, without the chat template.")
@_with_json
@model_options
@plugin_options
@click.pass_context
def explain(
    ctx: click.Context, *, model: str, prompt: str | None, system: str | None, raw: bool, as_json: bool
) -> None:
    """Say how much of PROMPT is kept for MODEL, and what is different from there on."""
    from reame_core.cli.prompt import read_prompt
    from reame_diskkv.warming import Text, running

    text = Text(read_prompt(prompt), system=system, raw=raw)
    with running(settings_of(ctx), model, plugin_selection(settings_of(ctx)), note) as (session, service):
        explanation = service.explain("", text.tokens(session))
    if as_json:
        _write_json(asdict(explanation))
    else:
        write("\n".join(explanation.lines()) + "\n")


@click.command(short_help="Compute prompts ahead of time.")
@click.argument("model")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--raw", is_flag=True, help="Texts are prompts as they are, without the chat template.")
@click.option("--system", "as_system", is_flag=True, help="Texts are system prompts.")
@click.option("--schedule", metavar="HH:MM", help="Do it at this time of each day, until interrupted.")
@_with_json
@model_options
@plugin_options
@click.pass_context
def warm(
    ctx: click.Context,
    *,
    model: str,
    files: tuple[Path, ...],
    raw: bool,
    as_system: bool,
    schedule: str | None,
    as_json: bool,
) -> None:
    """Compute the prompts in FILES with MODEL and keep them on disk, so that others begin at once.

    A file is a text, or JSON (.json, or .jsonl with one value a line) of the form {"messages": […]} or
    {"prompt": "…"}.
    """
    from reame_diskkv import schedule as schedules
    from reame_diskkv.warming import read_texts, warm_texts

    settings = settings_of(ctx)
    texts = [text for file in files for text in read_texts(file, raw=raw, as_system=as_system)]
    moment = schedules.time_of_day(schedule) if schedule is not None else None
    while True:
        if moment is not None:
            schedules.wait_for(moment, note)
        warmed = warm_texts(settings, model, plugin_selection(settings), texts, note)
        if as_json:
            _write_json([asdict(each) for each in warmed])
        else:
            write(
                "".join(f"{each.name}: {each.tokens:,} tokens, {each.computed:,} computed\n" for each in warmed)
            )
        if moment is None:
            return


def _options(ctx: click.Context) -> Options:
    from reame_core.plugins.names import normalise
    from reame_diskkv.options import read_options

    tables = settings_of(ctx).values.plugins.tables
    names = ("diskkv", "reame-diskkv")
    return read_options(next((table for name, table in tables.items() if normalise(name) in names), {}))


def _say_removed(count: int, *, as_json: bool) -> None:
    if as_json:
        _write_json({"removed": count})
    else:
        write(f"{count:,} blocks removed\n")


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.0%})" if whole else "0"


def _ago(seconds: float) -> str:
    for name, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {name} ago"
    return "now"


def _write_json(value: object) -> None:
    write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
