"""``reame ps``: the servers that run on this machine."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import click

from reame_core.cli.manual import Command
from reame_core.cli.table import write_table
from reame_core.cli.terminal import note, write

if TYPE_CHECKING:
    from reame_core.running import RunningServer

_ENVIRONMENT = (("REAME_HOME", "the folder for settings, models, state and cache"),)


@click.command(cls=Command, short_help="List the servers that run here.", environment=_ENVIRONMENT)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def ps(*, as_json: bool) -> None:
    """List the servers of this user on this machine: process, address, model, state and age."""
    from reame_core.running import running_servers

    servers = [_described(server) for server in running_servers()]
    if as_json:
        write(json.dumps(servers, ensure_ascii=False, indent=2) + "\n")
    elif servers:
        headings = ("PID", "ADDRESS", "MODEL", "STATE", "UP")
        write_table(headings, [_row(server) for server in servers])
    else:
        note("no server of this user runs here; reame serve starts one")


def _described(server: RunningServer) -> dict[str, object]:
    from reame_core.cli.servers.asking import ServerError, ask, reachable

    model, state = None, "silent"
    try:
        health = ask(reachable(server.address), "/health").json()
        model, state = health.get("model"), health["status"]
    except (ServerError, ValueError, KeyError, AttributeError, TypeError):
        pass
    return {
        "pid": server.pid,
        "address": server.address,
        "model": model,
        "state": state,
        "up_s": round(max(0.0, time.time() - server.since), 1),
    }


def _row(server: dict[str, object]) -> tuple[str, ...]:
    up = duration(float(str(server["up_s"])))
    return (str(server["pid"]), str(server["address"]), str(server["model"] or "-"), str(server["state"]), up)


def duration(seconds: float) -> str:
    """For people, in its two largest units: ``3 h 12 min``."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next((i for i, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2])
