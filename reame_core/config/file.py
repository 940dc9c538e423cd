"""Finding and reading ``reame.toml``."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reame_core.config.directories import directories
from reame_core.config.keys import Key, all_keys, section_names, show_input
from reame_core.config.layer import Layer, Origin
from reame_core.config.unknown import unknown_key, unknown_section
from reame_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE_NAME = "reame.toml"
LARGEST_FILE = 1 << 20

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


def find_file(chosen: str | None, environment: Mapping[str, str]) -> Path | None:
    """The file to read: chosen by flag, else by REAME_CONFIG, else here, else the user's, else none.

    A file that somebody chose need not exist for this answer; reading it is the test.
    """
    chosen = chosen or environment.get("REAME_CONFIG")
    if chosen:
        return Path(os.path.expanduser(chosen))  # noqa: PTH111 (never raises, unlike Path.expanduser)
    for candidate in (Path(FILE_NAME), directories(environment).config / FILE_NAME):
        if os.path.lexists(candidate):
            return candidate
    return None


def read_file(path: Path) -> Layer:
    """The settings of one file. Raises ConfigError for anything that is not right about it."""
    place = os.path.abspath(path)  # noqa: PTH100 (works without a current directory to resolve)
    document = _parse(place, _text(place))
    layer = Layer()
    for section, table in document.items():
        if section not in section_names():
            raise (
                unknown_section(place, section) if isinstance(table, dict) else unknown_key(place, "", section)
            )
        if not isinstance(table, dict):
            raise ConfigError(f"{place}: {section} must be a section [{section}], not {show_input(table)}")
        for name, value in table.items():
            _read_entry(layer, place, section, name, value)
    return layer


def _read_entry(layer: Layer, place: str, section: str, name: str, value: object) -> None:
    origin = Origin("file", place)
    key = all_keys().get(f"{section}.{name}")
    if key is not None:
        try:
            layer.values[key.full_name] = (_located(key, key.read(value), place), origin)
        except ValueError as refusal:
            raise ConfigError(f"{place}: {key.full_name} {refusal}") from None
    elif section == "plugins" and isinstance(value, dict):
        layer.plugin_names.append(name)
        layer.plugin_values.update({(name, option): (setting, origin) for option, setting in value.items()})
    else:
        raise unknown_key(place, section, name)


def _located(key: Key, value: object, place: str) -> object:
    """A path in a file counts from that file's folder, wherever the program is started. A bare word may
    be the name of a model in the catalogue and is left alone."""
    if not key.is_path or not isinstance(value, str):
        return value
    value = os.path.expanduser(value)  # noqa: PTH111
    names_a_file = key.full_name != "model.path" or "/" in value or value.lower().endswith(".gguf")
    return os.path.normpath(Path(place).parent / value) if names_a_file else value


def _text(place: str) -> str:
    try:
        with Path(place).open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(f"{place}: cannot read the settings: {error.strerror or error}") from None
    if len(data) > LARGEST_FILE:
        raise ConfigError(f"{place}: too large for a settings file (more than {LARGEST_FILE >> 20} MB)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{place}, line {line}: not UTF-8 text (byte 0x{data[error.start]:02x})") from None


def _parse(place: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{place}: not valid TOML: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or a whole number of thousands of digits
        message = str(error)
        found = _PLACE.search(message)
        message = message[: found.start()] if found else message
        line = found[1] if found and found[1] else str(text.count("\n") + (not text.endswith("\n")))
        raise ConfigError(f"{place}, line {line}: not valid TOML: {message[:1].lower()}{message[1:]}") from None
