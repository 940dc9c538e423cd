"""Options that are settings: every command that has them reads the settings in the same way.

Their values stay texts until the settings are loaded, so that a wrong one is reported like a wrong value in
the file or the environment.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reame_core.cli.manual import SettingOption

if TYPE_CHECKING:
    from collections.abc import Callable

    from reame_core.config import Settings
    from reame_core.plugins.selection import PluginSelection

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_FILE = "reame.config_file"
_FLAGS = "reame.flags"


@dataclass(frozen=True, slots=True)
class _SettingOption:
    option: str
    key: str
    metavar: str
    help: str
    extends: bool = False
    """Given any number of times, each adding to a list."""
    switch: bool = False
    """Takes no value: given, it turns the setting on."""

    def decorate(self, command: Callable[..., Any]) -> Callable[..., Any]:
        if self.switch:
            return click.option(
                self.option,
                cls=SettingOption,
                setting=self.key,
                help=self.help,
                is_flag=True,
                expose_value=False,
                callback=self._remember_switch,
            )(command)
        return click.option(
            self.option,
            cls=SettingOption,
            setting=self.key,
            metavar=self.metavar,
            help=self.help,
            multiple=self.extends,
            expose_value=False,
            callback=self._remember,
        )(command)

    def _remember(self, ctx: click.Context, _: click.Parameter, value: str | tuple[str, ...] | None) -> None:
        if value is not None and value != ():
            ctx.meta.setdefault(_FLAGS, []).append((self, value))

    def _remember_switch(self, ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            self._remember(ctx, parameter, "true")


_MODEL = (
    _SettingOption("--threads", "model.threads", "N", "Threads that compute (default: what the CPU allows)."),
    _SettingOption("--context-length", "model.context_length", "N", "Tokens of prompt and answer together."),
)
_SERVER = (
    _SettingOption("--host", "server.host", "ADDRESS", "Address to listen on (default: this machine only)."),
    _SettingOption("--port", "server.port", "N", "Port to listen on (default: 8080; 0: any free one)."),
    _SettingOption(
        "--api-key",
        "server.api_key",
        "KEY",
        "Key that clients must send, KEY or NAME:KEY; repeatable. Other users of this machine can see it: "
        "better use --keys-file or REAME_SERVER__API_KEY.",
        extends=True,
    ),
    _SettingOption("--keys-file", "server.keys_file", "FILE", "File of keys, one a line."),
    _SettingOption(
        "--allow-public-without-key",
        "server.allow_public",
        "",
        "Listen on a public address although no key is set.",
        switch=True,
    ),
    _SettingOption("--parallel", "engine.parallel", "N", "Sequences computed at the same time."),
    _SettingOption("--grace", "server.grace_s", "SECONDS", "Time to finish running requests at the end."),
    _SettingOption("--log-format", "server.log_format", "FORMAT", "console or json."),
    _SettingOption("--log-level", "server.log_level", "LEVEL", "debug, info, warning or error."),
)
_PLUGINS = (
    _SettingOption(
        "--no-plugin", "plugins.disable", "NAME", "Do not use this plugin; repeatable.", extends=True
    ),
    _SettingOption("--plugins-dir", "plugins.folder", "DIR", "Folder of one-file plugins."),
)
_SAMPLING = (
    _SettingOption("--max-tokens", "sampling.max_tokens", "N", "Tokens to generate at most."),
    _SettingOption(
        "--temperature", "sampling.temperature", "T", "0 (default) is greedy; higher is more random."
    ),
    _SettingOption("--top-k", "sampling.top_k", "K", "Keep the K most probable tokens; 0 keeps all."),
    _SettingOption("--top-p", "sampling.top_p", "P", "Keep the most probable tokens that hold P together."),
    _SettingOption("--min-p", "sampling.min_p", "P", "Keep tokens at least P times as probable as the best."),
    _SettingOption("--repeat-penalty", "sampling.repeat_penalty", "X", "Above 1: less repetition."),
)


def sampling_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return _decorate(command, _SAMPLING)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return _decorate(command, _MODEL)


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return _decorate(command, _SERVER)


def plugin_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The choice of plugins, and ``--config``."""
    return _config_option(_decorate(command, _PLUGINS))


def settings_of(ctx: click.Context) -> Settings:
    """The settings for this invocation. Raises ConfigError."""
    from reame_core.config import Flag, load_settings

    flags = [
        Flag(setting.option, setting.key, list(value) if setting.extends else value, extend=setting.extends)
        for setting, value in ctx.meta.get(_FLAGS, [])
    ]
    return load_settings(flags, config_file=ctx.meta.get(_FILE))


def plugin_selection(settings: Settings) -> PluginSelection:
    from reame_core.plugins.selection import PluginSelection

    chosen = settings.values.plugins
    return PluginSelection(
        disable=chosen.disable,
        only=chosen.only,
        order=chosen.order,
        strict=chosen.strict,
        folder=Path(chosen.folder) if chosen.folder else None,
    )


def _decorate(command: Callable[..., Any], options: tuple[_SettingOption, ...]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option.decorate(command)
    return command


def _config_option(command: Callable[..., Any]) -> Callable[..., Any]:
    def remember(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.meta[_FILE] = value

    option = click.option(
        "--config", metavar="PATH", help="The settings file.", expose_value=False, callback=remember
    )
    return option(command)
