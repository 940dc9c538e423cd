"""The plugins' tables in the configuration, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeVar

import msgspec

from reame_core.errors import ConfigError
from reame_core.plugins.names import did_you_mean, listing
from reame_palimpsest.contexts import GRAM
from reame_palimpsest.generations import LONGEST_MATCH

Options = TypeVar("Options", bound=msgspec.Struct)

_WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text"}


class LookupOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[plugins.prompt-lookup]``"""

    min_match: Annotated[int, msgspec.Meta(ge=2, le=LONGEST_MATCH)] = 2
    """Tokens that have to be repeated before what followed them is proposed."""


class ArchiveOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[plugins.palimpsest]``"""

    folder: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    """Where the archive lies; None for ``palimpsest`` in the user's state folder."""
    max_size_mb: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 1024
    """On disk; the oldest generations go first. 0 archives nothing."""
    ttl_days: Annotated[float, msgspec.Meta(gt=0, le=36_500)] | None = None
    """Older generations are neither used nor kept; None for no limit."""
    min_match: Annotated[int, msgspec.Meta(ge=GRAM, le=LONGEST_MATCH)] = GRAM
    """Tokens that have to be repeated before what followed them is proposed."""
    archive: bool = True
    """False draws on what is there and adds nothing."""


def read_options(plugin: str, table: Mapping[str, object], kind: type[Options]) -> Options:
    """``table`` of ``[plugins.PLUGIN]`` as ``kind``. Raises ConfigError."""
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
