"""``reame stats``: what a running server has done, and what it did not have to do."""

from __future__ import annotations

import json
from typing import Any

import click

from reame_core.cli.manual import Command
from reame_core.cli.options import settings_of
from reame_core.cli.terminal import one_line, write
from reame_core.errors import InvalidRequest


@click.command(
    cls=Command,
    short_help="Show what a running server has done.",
    environment=[
        ("REAME_SERVER__API_KEY", "keys of the server, of which the first is used"),
        ("REAME_SERVER__KEYS_FILE", "a file of such keys"),
        ("REAME_HOME", "the folder for settings, models, state and cache"),
    ],
    examples=[
        ("reame stats", "of the one server that runs here"),
        ("reame stats 127.0.0.1:8081", "of the server at this address"),
    ],
)
@click.argument("address", required=False)
@click.option(
    "--api-key",
    "key",
    metavar="KEY",
    help="Key of the server. Other users of this machine can see it: better use the environment.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def stats(ctx: click.Context, *, address: str | None, key: str | None, as_json: bool) -> None:
    """Show what the server at ADDRESS has done since it started: requests, tokens by where they came from,
    drafts, times. Without ADDRESS it is the server of this user on this machine, if there is one.

    A server with keys wants one: that of the settings, the environment or --api-key.
    """
    from reame_core.cli.servers.asking import ServerError, ask, only_server, own_key, reachable
    from reame_core.cli.servers.figures import Figures, summary

    target = reachable(address) if address is not None else only_server()
    response = ask(target, "/metrics", key or own_key(settings_of(ctx)))
    if response.status_code == 401:
        raise InvalidRequest(
            f"{target} wants a key: give it by --api-key or REAME_SERVER__API_KEY", param="api_key"
        )
    if response.status_code != 200:
        raise ServerError(f"{target} has no metrics (status {response.status_code}); see server.metrics")
    try:
        found = summary(Figures(response.text))
    except ValueError:
        raise ServerError(f"{target} is no server of Reame: its metrics cannot be read") from None
    if as_json:
        write(json.dumps(found, ensure_ascii=False, indent=2) + "\n")
        return
    lines = {"address": target, **_texts(found)}
    width = max(map(len, lines))
    write("".join(f"{name:<{width}}  {one_line(text)}\n" for name, text in lines.items()))


def _texts(found: dict[str, Any]) -> dict[str, str]:
    requests, cells = found["requests"], found["kv_cells"]
    texts = {
        "model": found["model"] or "still being loaded",
        "requests": f"{requests['running']} running, {requests['waiting']} waiting",
        "answers": _counts(requests["answered"]),
        "refused": _counts(requests["refused"]),
        "cut": _counts(requests["cut"]),
        "prompt tokens": _shares(found["prompt_tokens"]),
        "not computed again": f"about {found['seconds_avoided']:.1f} s of computing",
        "generated tokens": f"{found['generated_tokens']:,}",
        "drafts": _drafts(found["drafts"]),
        "first token": _milliseconds(found["first_token_s"]),
        "between tokens": _milliseconds(found["between_tokens_s"]),
        "kv cells": f"{cells['used']:,} of {cells['all']:,} used",
        "errors of plugins": _counts(found["plugin_errors"]),
    }
    return {name: text for name, text in texts.items() if text}


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _shares(counts: dict[str, int]) -> str:
    total = sum(counts.values())
    if not total:
        return "none yet"
    parts = ", ".join(f"{count:,} {name} ({100 * count / total:.0f} %)" for name, count in counts.items())
    return f"{total:,}: {parts}"


def _drafts(drafts: dict[str, dict[str, int]]) -> str:
    return ", ".join(
        f"{source}: {counts['accepted']:,} of {counts['drafted']:,} tokens accepted"
        for source, counts in drafts.items()
    )


def _milliseconds(seconds: float | None) -> str:
    return f"{1000 * seconds:.1f} ms on average" if seconds is not None else ""
