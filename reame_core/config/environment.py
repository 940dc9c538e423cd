"""Settings from ``REAME_SECTION__KEY`` variables, and from ``REAME_PLUGINS``."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING

from reame_core.config.keys import Key, all_keys
from reame_core.config.layer import Layer, Origin
from reame_core.config.unknown import unknown_variable
from reame_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "REAME_"
PLUGINS_VARIABLE = "REAME_PLUGINS"
_PLUGIN_PREFIX = "REAME_PLUGINS__"


def read_environment(environment: Mapping[str, str]) -> Layer:
    layer = Layer()
    keys = {key.variable: key for key in all_keys().values()}
    for variable in sorted(environment):
        if variable in keys:
            _set(layer, keys[variable], variable, environment[variable])
        elif variable == PLUGINS_VARIABLE:
            _set_short(layer, environment)
        elif variable.startswith(_PLUGIN_PREFIX) and "__" in variable.removeprefix(_PLUGIN_PREFIX):
            _set_plugin_option(layer, variable, environment[variable])
        elif variable.startswith(PREFIX) and "__" in variable.removeprefix(PREFIX):
            raise unknown_variable(variable)
    return layer


def _set(layer: Layer, key: Key, variable: str, text: str) -> None:
    try:
        value = key.read_text(text)
    except ValueError as refusal:
        raise ConfigError(f"{variable} {refusal}") from None
    if key.is_path and isinstance(value, str):
        value = os.path.expanduser(value)  # noqa: PTH111 (never raises, unlike Path.expanduser)
    layer.values[key.full_name] = (value, Origin("environment", variable))


def _set_short(layer: Layer, environment: Mapping[str, str]) -> None:
    only = all_keys()["plugins.only"]
    if only.variable in environment:
        raise ConfigError(f"{PLUGINS_VARIABLE} and {only.variable} mean the same: set one of them")
    _set(layer, only, PLUGINS_VARIABLE, environment[PLUGINS_VARIABLE])


def _set_plugin_option(layer: Layer, variable: str, text: str) -> None:
    plugin, option = variable.removeprefix(_PLUGIN_PREFIX).lower().split("__", 1)
    if not plugin or not option:
        raise unknown_variable(variable)
    layer.plugin_names.append(plugin)
    layer.plugin_values[plugin, option] = (_as_toml(text), Origin("environment", variable))


def _as_toml(text: str) -> object:
    """The core does not know the types of a plugin's options: what reads as a TOML value is one, anything
    else is a text."""
    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return document["value"] if list(document) == ["value"] else text
