"""Commands that plugins add. Plugins are loaded only where a list of all commands is wanted or a command that
is none of the core's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reame_core.cli.logs import log_to_stderr
from reame_core.cli.options import plugin_selection, settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reame_core.plugins.manager import PluginManager

_FOUND = "reame.plugin_commands"
_PLUGINS = "reame.command_line_plugins"


def plugin_commands(ctx: click.Context) -> Mapping[str, click.Command]:
    """By name; those of the plugins that file and environment choose. Raises a UsageError."""
    meta = ctx.find_root().meta
    if _FOUND not in meta:
        meta[_FOUND] = _ask(ctx)
    found: Mapping[str, click.Command] = meta[_FOUND]
    return found


def _ask(ctx: click.Context) -> Mapping[str, click.Command]:
    collected = click.Group()
    command_line_plugins(ctx).hook("register_commands").all(collected)
    return collected.commands


def command_line_plugins(ctx: click.Context) -> PluginManager:
    """The plugins that file and environment choose, which are loaded once. Raises a UsageError."""
    meta = ctx.find_root().meta
    if _PLUGINS not in meta:
        from reame_core.plugins.manager import PluginManager

        log_to_stderr()
        meta[_PLUGINS] = PluginManager(plugin_selection(settings_of(ctx)))
    plugins: PluginManager = meta[_PLUGINS]
    return plugins
