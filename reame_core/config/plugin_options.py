"""A plugin's own table in the configuration, checked. For plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from reame_core.errors import ConfigError
from reame_core.plugins.names import did_you_mean, listing

Options = TypeVar("Options", bound=msgspec.Struct)

_WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text"}


def read_options(plugin: str, table: Mapping[str, object], kind: type[Options]) -> Options:
    """``table`` of ``[plugins.PLUGIN]`` as ``kind``, texts of the environment included. Raises ConfigError."""
    known = kind.__struct_fields__
    for name in table:
        if name not in known:
            guess = did_you_mean(name, known)
            raise ConfigError(f"plugins.{plugin} has no setting {name!r}{guess} (there are: {listing(known)})")
    try:
        return msgspec.convert(dict(table), kind, strict=False)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        name = where.rstrip("`")
        raise ConfigError(f"plugins.{plugin}.{name} {_in_words(what)}, not {table.get(name)!r}") from None


def _in_words(what: str) -> str:
    expected = what.partition(", got")[0].replace("Expected", "must be").replace("`", "")
    return " ".join(_WORDS.get(word, word) for word in expected.split())
