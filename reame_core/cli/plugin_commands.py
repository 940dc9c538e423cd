"""Commands that plugins add. Plugins are loaded only where a list of all commands is wanted or a command that
is none of the core's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reame_core.cli.logs import log_to_stderr
from reame_core.cli.options import plugin_selection, settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOUND = "reame.plugin_commands"


def plugin_commands(ctx: click.Context) -> Mapping[str, click.Command]:
    """By name; those of the plugins that file and environment choose. Raises a UsageError."""
    meta = ctx.find_root().meta
    if _FOUND not in meta:
        meta[_FOUND] = _ask(ctx)
    found: Mapping[str, click.Command] = meta[_FOUND]
    return found


def _ask(ctx: click.Context) -> Mapping[str, click.Command]:
    from reame_core.plugins.manager import PluginManager

    log_to_stderr()
    manager = PluginManager(plugin_selection(settings_of(ctx)))
    collected = click.Group()
    manager.hook("register_commands").all(collected)
    return collected.commands
