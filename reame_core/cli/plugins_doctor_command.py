"""``reame plugins doctor``: whether plugins get along, what they cost and whom they help."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from reame_core.cli.manual import Command
from reame_core.cli.options import model_options, plugin_options, plugin_selection, settings_of
from reame_core.cli.table import write_table
from reame_core.cli.terminal import note, one_line, write
from reame_core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Collection

    from reame_core.config import Settings
    from reame_core.doctor.plugins.findings import Finding
    from reame_core.plugins.manager import PluginManager
    from reame_core.server.wire.plugins import PluginConditions

SOMETHING_WRONG = 1
ROUTE = "/v1/reame/plugins"
FAKE = "a few requests to a fake model"


@click.command(
    cls=Command,
    short_help="See whether plugins get along, what they cost and whom they help.",
    environment=[
        ("REAME_SERVER__API_KEY", "keys of the server, of which the first is used"),
        ("REAME_SERVER__KEYS_FILE", "a file of such keys"),
        ("REAME_HOME", "the folder for settings, models, state and cache"),
    ],
    examples=[
        ("reame plugins doctor", "of the server that runs here, else by a short probe"),
        ("reame plugins doctor 127.0.0.1:8081", "of the server at this address"),
        ("reame plugins doctor --model smollm2-135m", "with a few answers of this model"),
        ("reame plugins doctor --json", "for programs: exit status 1 where something is wrong"),
    ],
)
@click.argument("address", required=False)
@click.option(
    "--model", metavar="MODEL", help="Load this model and have it answer, instead of asking a server."
)
@click.option("--probe", "probed", is_flag=True, help="Probe, although a server runs.")
@click.option(
    "--api-key",
    "key",
    metavar="KEY",
    help="Key of the server. Other users of this machine can see it: better use the environment.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@model_options
@plugin_options
@click.pass_context
def doctor(
    ctx: click.Context, *, address: str | None, model: str | None, probed: bool, key: str | None, as_json: bool
) -> int:
    """Look at all plugins: versions and what they are made for, names and hooks that they contend for, options
    that nobody reads, what each hook costs, and which requests the plugins helped.

    The figures are those of the server at ADDRESS, else of the one server of this user on this machine. Where
    none runs, the plugins are started for a few requests to a fake model, in a folder that is thrown away; with
    --model to a real one, as they are configured. The exit status is 1 where something is wrong.
    """
    from reame_core.doctor.plugins.findings import findings

    if address is not None and (model is not None or probed):
        raise InvalidRequest("name the address of a server, or --model or --probe: not both", param="address")
    if model is not None and probed:
        raise InvalidRequest("--probe is without a model: leave --model out", param="model")
    settings = settings_of(ctx)
    source, conditions, here = _examined(ctx, settings, address, model, key, probed=probed)
    found = [*here, *findings(conditions, babble=source == FAKE)]
    found.sort(key=lambda finding: finding.level)
    if as_json:
        write(json.dumps(_as_data(source, conditions, found), ensure_ascii=False, indent=2) + "\n")
    else:
        _write(source, conditions, found)
    return SOMETHING_WRONG if any(finding.level == "problem" for finding in found) else 0


def _examined(
    ctx: click.Context,
    settings: Settings,
    address: str | None,
    model: str | None,
    key: str | None,
    *,
    probed: bool,
) -> tuple[str, PluginConditions, list[Finding]]:
    """Where the figures come from, the figures, and what is wrong in this environment itself."""
    from reame_core.cli.servers.asking import is_local, own_key, reachable

    target = None if model is not None or probed else _server(address)
    if target is not None:
        conditions = _asked(target, key or own_key(settings))
        here = _look_around(ctx, settings)[1] if is_local(target) else []
        return f"server {reachable(target)}", conditions, here
    tables, here = _look_around(ctx, settings)
    selection = plugin_selection(settings)
    if model is not None:
        from reame_core.cli.models.fetching import bring_here
        from reame_core.doctor.plugins.rehearsal import rehearse

        bring_here(settings, model)
        return f"a few answers of {model}", rehearse(settings, model, selection, note), here
    from reame_core.doctor.plugins.probe import left_alone, probe

    return FAKE, probe(selection, tables), [*here, *left_alone(tables)]


def _server(address: str | None) -> str | None:
    """None where none runs."""
    from reame_core.cli.servers.asking import only_server, reachable
    from reame_core.running import running_servers

    if address is not None:
        return reachable(address)
    return only_server() if running_servers() else None


def _asked(target: str, key: str | None) -> PluginConditions:
    import msgspec

    from reame_core.cli.servers.asking import ServerError, ask
    from reame_core.server.wire.plugins import PluginConditions

    response = ask(target, ROUTE, key)
    if response.status_code == 401:
        raise InvalidRequest(
            f"{target} wants a key: give it by --api-key or REAME_SERVER__API_KEY", param="api_key"
        )
    if response.status_code == 503:
        raise ServerError(f"{target} serves no requests now: its model is still being loaded, or it shuts down")
    try:
        if response.status_code == 200:
            return msgspec.json.decode(response.content, type=PluginConditions)
    except msgspec.DecodeError:
        pass
    raise ServerError(
        f"{target} does not tell about its plugins (status {response.status_code}): is it a Reame?"
    )


def _look_around(ctx: click.Context, settings: Settings) -> tuple[dict[str, Any], list[Finding]]:
    """The tables of options by plugin, and what is wrong with names in this environment."""
    from reame_core.doctor.plugins.clashes import clashes, owned_tables
    from reame_core.plugins.built_in import BUILT_IN_PLUGINS
    from reame_core.plugins.manager import PluginManager

    plugins: PluginManager = PluginManager(plugin_selection(settings), builtins=BUILT_IN_PLUGINS)
    tables, found = owned_tables(plugins, settings.values.plugins.tables)
    commands, options = _own_names(ctx)
    return dict(tables), [*found, *clashes(plugins, commands, options)]


def _own_names(ctx: click.Context) -> tuple[Collection[str], Collection[str]]:
    """The commands of Reame itself, and the options of its ``run``."""
    root = ctx.find_root().command
    commands = root.commands if isinstance(root, click.Group) else {}
    run = commands.get("run")
    return list(commands), [name for parameter in (run.params if run else ()) for name in parameter.opts]


def _as_data(source: str, conditions: PluginConditions, found: list[Finding]) -> dict[str, Any]:
    from dataclasses import asdict

    import msgspec

    figures: dict[str, Any] = msgspec.to_builtins(conditions)
    return {"source": source, **figures, "findings": [asdict(finding) for finding in found]}


def _write(source: str, conditions: PluginConditions, found: list[Finding]) -> None:
    from reame_core.doctor.plugins.report import hook_rows, plugin_rows

    write(one_line(f"Reame {conditions.reame}, plugin API {conditions.api}; figures of {source}") + "\n\n")
    write_table(("PLUGIN", "VERSION", "MADE FOR", "STATE", "HELPED"), plugin_rows(conditions))
    write("\n")
    write_table(("HOOK", "PLUGIN", "CALLS", "MEAN", "P99", "LONGEST", "FAILED"), hook_rows(conditions))
    write("\n")
    for finding in found:
        mark = "!" if finding.level == "problem" else "-"
        who = f"{finding.plugin}: " if finding.plugin else ""
        write(one_line(f"{mark} {who}{finding.text}") + "\n")
    if not any(finding.level == "problem" for finding in found):
        write("Nothing is wrong.\n")
