"""Options of ``reame run`` that plugins add: fields of the request, as HTTP has them.

Plugins are loaded only where help is wanted or where an option is none of the core's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from reame_core.cli.manual import Command
from reame_core.cli.options import plugin_selection
from reame_core.cli.plugin_commands import command_line_plugins
from reame_core.errors import PluginError, UsageError
from reame_core.plugins.api import RunOption
from reame_core.plugins.services import needs_plugin

if TYPE_CHECKING:
    from reame_core.config import Settings
    from reame_core.plugins.manager import PluginManager

PLUGIN_OF = {
    **dict.fromkeys(("--best-of", "--judge", "--min-consensus"), "conclave"),
    **dict.fromkeys(("--json-schema", "--regex", "--grammar"), "suggeritore"),
}
"""Options that are known although the plugin that has them may not be there."""
_ADDED = "reame.plugin_options"
_GIVEN = "reame.plugin_options_given"


class RunCommand(Command):
    """A command with the options of plugins."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption as unknown:
            self._add(ctx)
            there = {name for option in self.get_params(ctx) for name in option.opts}
            plugin = PLUGIN_OF.get(unknown.option_name)
            if plugin is not None and unknown.option_name not in there:
                raise PluginError(needs_plugin(unknown.option_name, plugin)) from None
        return super().parse_args(ctx, list(args))

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *own, help_option = super().get_params(ctx)
        return [*own, *ctx.meta.get(_ADDED, ()), help_option]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        try:
            self._add(ctx)
        except UsageError:  # there is help even where the settings are wrong
            ctx.meta[_ADDED] = []
        super().format_options(ctx, formatter)

    def _add(self, ctx: click.Context) -> None:
        own = {name for parameter in self.params for name in parameter.opts}
        plugins = command_line_plugins(ctx)
        ctx.meta[_ADDED] = [_option(each) for each in offered(plugins) if each.option not in own]


def offered(plugins: PluginManager) -> Iterator[RunOption]:
    """The options of ``plugins``, each name once."""
    seen = set()
    for _, call in plugins.hook("run_options").calls:
        for option in call() or ():
            if isinstance(option, RunOption) and option.option not in seen:
                seen.add(option.option)
                yield option


def _option(option: RunOption) -> click.Option:
    def remember(ctx: click.Context, _: click.Parameter, text: str | None) -> None:
        if text is None:
            return
        try:
            value = option.read(text)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint=option.option) from None
        ctx.meta.setdefault(_GIVEN, []).append((option, value))

    return click.Option(
        [option.option], metavar=option.metavar, help=option.help, expose_value=False, callback=remember
    )


def options_given(ctx: click.Context) -> list[tuple[RunOption, Any]]:
    """Those that were used, with their values."""
    given: list[tuple[RunOption, Any]] = ctx.meta.get(_GIVEN, [])
    return given


def plugin_fields(ctx: click.Context, settings: Settings) -> dict[str, Any]:
    """The fields that were asked for. Raises PluginError where the plugin that has them was switched off by
    another option."""
    given = options_given(ctx)
    if not given:
        return {}
    from reame_core.plugins.manager import PluginManager

    there = {option.option for option in offered(PluginManager(plugin_selection(settings)))}
    fields: dict[str, Any] = {}
    for option, value in given:
        if option.option not in there:
            raise PluginError(_missing(option.option))
        if option.key is None:
            fields[option.field] = value
        else:
            fields.setdefault(option.field, {})[option.key] = value
    return fields


def _missing(option: str) -> str:
    plugin = PLUGIN_OF.get(option)
    return needs_plugin(option, plugin) if plugin else f"{option} belongs to a plugin that is not used here"


def choices_wanted(ctx: click.Context) -> int:
    """How many choices the options given will have computed, as far as that is known."""
    return max((value for option, value in options_given(ctx) if option.choices), default=1)
