"""One model of the catalogue: where it comes from, and what is known of it before it is here."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from reame_core.models.sources import LocalSource, Source, parse_source
from reame_core.models.wording import alternatives, nearest, printable

_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}", re.ASCII)
_UNKNOWN_FIELD = re.compile(r"unknown field `(\w+)`")

Count = Annotated[int, Meta(ge=1, le=1 << 48)]
Text = Annotated[str, Meta(min_length=1, max_length=300)]


class Facts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a table of the catalogue may say. Only ``source`` is needed."""

    source: Text
    install: Text | None = None
    """The command that installs the package of a ``package:`` source."""
    quantisation: Text | None = None
    parameters: Count | None = None
    size: Count | None = None
    """Bytes of all files together; approximate unless the file is pinned by ``sha256``."""
    sha256: Annotated[str, Meta(pattern="^[0-9a-fA-F]{64}$")] | None = None
    """Of the one file of the model. Without it the hub's own checksum counts."""
    context: Count | None = None
    """Tokens that the model was trained for."""
    licence: Text | None = None
    suits: Text | None = None
    layers: Count | None = None
    kv_heads: Count | None = None
    head_size: Count | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A name and the model that it means."""

    name: str
    source: Source
    facts: Facts
    origin: str
    """Who says so: ``built in``, a file, a plugin, or the models folder."""


def read_entry(name: str, table: object, origin: str, base: Path | None = None) -> Entry:
    """The entry that ``table`` describes. A path in it counts from ``base``. Raises ValueError with a sentence
    about what is wrong, without its origin."""
    check_name(name)
    if not isinstance(table, Mapping):
        raise ValueError(f"{name} must be a table with a source")
    try:
        facts = msgspec.convert(dict(table), Facts)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}: {_refusal(str(error))}") from None
    try:
        source = parse_source(facts.source, base=base, install=facts.install)
    except ValueError as error:
        raise ValueError(f"{name}.source {error}") from None
    return Entry(name, source, facts, origin)


def check_name(name: str) -> None:
    """Raise ValueError for what cannot be the name of a model: it becomes the name of a file."""
    if not _NAME.fullmatch(name) or name.lower().endswith(".gguf"):
        raise ValueError(
            f"{printable(name)!r} cannot be the name of a model: letters, digits and . _ + - are possible, at "
            "most 100, the first a letter or digit, without .gguf at the end"
        )


def folder_entry(name: str, path: Path, fetched_from: str | None) -> Entry:
    """The entry of a file in the models folder, which was fetched from a source or put there by somebody."""
    source: Source = LocalSource(path)
    if fetched_from is not None:
        with contextlib.suppress(ValueError):
            source = parse_source(fetched_from)
    return Entry(name, source, Facts(source=source.reference), "models folder")


def unlisted_entry(source: Source) -> Entry:
    """The entry of a source that somebody names without a catalogue; it has no name."""
    return Entry("", source, Facts(source=source.reference), "named directly")


def _refusal(message: str) -> str:
    """msgspec's sentence in the style of the others."""
    if found := _UNKNOWN_FIELD.search(message):
        close = nearest(found[1], Facts.__struct_fields__, most=1)
        hint = f"; did you mean {alternatives(close)}?" if close else ""
        return f"there is no field {found[1]}{hint}"
    message = (
        message.replace("Object missing required field", "it lacks the field")
        .replace(" | null", "")
        .replace("`", "")
    )
    what, _, place = message.partition(" - at $.")
    return f"{place} is wrong: {what[:1].lower()}{what[1:]}" if place else what
