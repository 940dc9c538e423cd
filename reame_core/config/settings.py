"""The effective settings, each with its origin: flag over environment over file over default."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from reame_core.config.environment import read_environment
from reame_core.config.file import find_file, read_file
from reame_core.config.keys import PLUGIN_TABLES, all_keys, is_secret
from reame_core.config.layer import DEFAULT, Layer, Origin
from reame_core.config.schema import Config
from reame_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Flag:
    """A command-line option that sets ``key``; with ``extend`` its list is added to what is there."""

    option: str
    key: str
    value: str | list[str]
    extend: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """One line of ``reame config``."""

    key: str
    value: object
    text: str
    """The value as it would be written."""
    origin: Origin


@dataclass(frozen=True, slots=True)
class Settings:
    """What the program runs with. ``Settings()`` are the defaults."""

    values: Config = field(default_factory=Config)
    file: Path | None = None
    """The file that was read."""
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def origin(self, key: str) -> Origin:
        """Where the value of ``model.threads`` or ``plugins.NAME.OPTION`` comes from."""
        if key not in self.origins and key not in all_keys():
            raise KeyError(key)
        return self.origins.get(key, DEFAULT)

    def shown(self) -> list[Shown]:
        """Every setting, then the plugins' tables; values of secrets are replaced by ``set``."""
        lines = []
        for name, key in all_keys().items():
            value = getattr(getattr(self.values, key.section), key.name)
            lines.append(self._line(name, value, key.show(value)))
        for plugin, table in self.values.plugins.tables.items():
            for option, value in table.items():
                value = _without_secrets(value)
                lines.append(self._line(f"plugins.{plugin}.{option}", value, _plugin_text(value)))
        return lines

    def _line(self, key: str, value: object, text: str) -> Shown:
        if is_secret(key.rsplit(".", 1)[-1]) and value not in (None, ()):
            value = text = "set"
        return Shown(key, value, text, self.origin(key))


_PASSWORD_OF_ADDRESS = re.compile(r"^(\w+://[^/@:]*:)[^/@]*@")
"""As in ``redis://user:password@host``."""


def load_settings(
    flags: Iterable[Flag] = (),
    *,
    config_file: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Read all layers. Every layer is checked, also where a higher one overrules it.

    ``config_file`` is the file of ``--config``; ``environment`` is the process's unless given.
    Raises ConfigError.
    """
    environment = os.environ if environment is None else environment
    path = find_file(config_file, environment)
    merged = Layer()
    for layer in (read_file(path) if path else Layer(), read_environment(environment)):
        merged.overrule(layer)
    for flag in flags:
        _apply(merged, flag)
    origins = {key: origin for key, (_, origin) in merged.values.items()}
    origins |= {
        f"plugins.{plugin}.{name}": origin for (plugin, name), (_, origin) in merged.plugin_values.items()
    }
    return Settings(values=_config(merged), file=path and path.absolute(), origins=origins)


def _apply(merged: Layer, flag: Flag) -> None:
    key = all_keys()[flag.key]
    try:
        value = key.read_text(flag.value) if isinstance(flag.value, str) else key.read(flag.value)
    except ValueError as refusal:
        raise ConfigError(f"{flag.option} {refusal}") from None
    if flag.extend:
        earlier, _ = merged.values.get(flag.key, (key.default, DEFAULT))
        assert isinstance(earlier, tuple)
        assert isinstance(value, tuple)
        value = earlier + tuple(name for name in value if name not in earlier)
    merged.values[flag.key] = (value, Origin("flag", flag.option))


def _config(merged: Layer) -> Config:
    tables: dict[str, dict[str, Any]] = {name: {} for name in merged.plugin_names}
    for (plugin, option), (value, _) in merged.plugin_values.items():
        tables[plugin][option] = value
    document: dict[str, dict[str, Any]] = {"plugins": {PLUGIN_TABLES: tables}}
    for name, (value, _) in merged.values.items():
        key = all_keys()[name]
        document.setdefault(key.section, {})[key.name] = value
    return msgspec.convert(document, Config)


def _without_secrets(value: object) -> object:
    if isinstance(value, dict):
        return {name: "set" if is_secret(name) else _without_secrets(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_secrets(inner) for inner in value]
    if isinstance(value, str):
        return _PASSWORD_OF_ADDRESS.sub(r"\1set@", value)
    return value


def _plugin_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)
