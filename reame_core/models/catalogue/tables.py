"""Catalogues as TOML files: one table a model, called by its name."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from reame_core.errors import ConfigError
from reame_core.models.catalogue.entry import Entry, read_entry
from reame_core.models.wording import printable

log = logging.getLogger("reame.models")

LARGEST_FILE = 1 << 20


@cache
def built_in() -> Mapping[str, Entry]:
    """What Reame knows by itself."""
    text = files("reame_core.models.catalogue").joinpath("built_in.toml").read_text("utf-8")
    return {name: read_entry(name, table, "built in") for name, table in tomllib.loads(text).items()}


def read_catalogue(path: Path) -> dict[str, Entry]:
    """The entries of a file. Raises ConfigError, which names the file, for anything that is wrong with it."""
    place = printable(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise ConfigError(f"{place}: too large for a catalogue (more than {LARGEST_FILE >> 20} MB)")
        document = tomllib.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{place}: cannot read the catalogue: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place}: not valid TOML: {printable(error)}") from None
    try:
        return {name: read_entry(name, table, str(path), path.parent) for name, table in document.items()}
    except ValueError as error:
        raise ConfigError(f"{place}: {error}") from None


def plugin_entries(answers: Iterable[tuple[str, object]]) -> dict[str, Entry]:
    """The entries that plugins add, from (plugin, answer to ``register_models``). What is wrong with one is
    logged, and the others are used. Of two of one name the first counts."""
    entries: dict[str, Entry] = {}
    for plugin, tables in answers:
        if not isinstance(tables, Mapping):
            log.error("plugin %r: register_models must answer a mapping, not %s", plugin, type(tables).__name__)
            continue
        for name, table in tables.items():
            try:
                entries.setdefault(name, read_entry(str(name), table, f"plugin {plugin}"))
            except ValueError as error:
                log.error("plugin %r: a model is left out: %s", plugin, error)
    return entries
