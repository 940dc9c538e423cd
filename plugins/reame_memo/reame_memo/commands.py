"""``reame memo``: what is kept, and forgetting it."""

from __future__ import annotations

import json
import sqlite3
import time
from typing import TYPE_CHECKING, Any

import click

from reame_core.cli.options import plugin_options, settings_of
from reame_core.cli.terminal import write

if TYPE_CHECKING:
    from collections.abc import Callable

    from reame_memo.store import Store

_DAY = 86_400


def _with_json(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


@click.group(short_help="Look after answers that are given again.")
def memo() -> None:
    """Look after answers that are kept on disk and given again without computing."""


@memo.command()
@_with_json
@plugin_options
@click.pass_context
def stats(ctx: click.Context, *, as_json: bool) -> None:
    """Show how many answers are kept, and where."""
    from reame_core.errors import UsageError

    store = _store(ctx)
    held = store.held()
    store.close()
    if store.errors:
        raise UsageError(f"{store.path} cannot be read: {store.last_error}")
    if as_json:
        _write_json({"file": str(store.path), "answers": held.answers, "bytes": held.bytes})
    else:
        write(f"{held.answers:,} {_answers(held.answers)}, {held.bytes / 1e6:.1f} MB in {store.path}\n")


@memo.command()
@click.option("--all", "everything", is_flag=True, help="Everything of everybody.")
@click.option("--tenant", metavar="NAME", help="Only what this tenant has; an empty name for the nameless one.")
@click.option("--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Only what is older.")
@_with_json
@plugin_options
@click.pass_context
def forget(
    ctx: click.Context, *, everything: bool, tenant: str | None, older_than: float | None, as_json: bool
) -> None:
    """Delete answers, by tenant, by age, or all. Running servers forget them at once."""
    from reame_core.errors import UsageError
    from reame_memo.tenants import tenant_digest

    if not everything and tenant is None and older_than is None:
        raise click.UsageError("say what to forget: --tenant, --older-than or --all", ctx)
    store = _store(ctx)
    before = None if older_than is None else time.time() - older_than * _DAY
    try:
        gone = store.forget(tenant=None if tenant is None else tenant_digest(tenant), made_before=before)
    except (sqlite3.Error, OSError) as error:
        raise UsageError(f"{store.path} cannot be written: {error}") from None
    finally:
        store.close()
    if as_json:
        _write_json({"forgotten": gone})
    else:
        write(f"{gone:,} {_answers(gone)} forgotten\n")


def _store(ctx: click.Context) -> Store:
    from reame_core.config.plugin_options import read_options
    from reame_core.plugins.names import normalise
    from reame_memo.options import Options
    from reame_memo.store import Limits, Store

    tables = settings_of(ctx).values.plugins.tables
    table = next((table for name, table in tables.items() if normalise(name) == "memo"), {})
    options = read_options("memo", table, Options)
    return Store(options.path, Limits.of(options))


def _write_json(value: object) -> None:
    write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def _answers(count: int) -> str:
    return "answer" if count == 1 else "answers"
