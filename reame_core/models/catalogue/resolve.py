"""From what a user calls a model to its file: a path, a source, or a name of the catalogue."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reame_core.errors import ModelError, UnknownModel
from reame_core.models.catalogue.catalogue import Catalogue, open_catalogue
from reame_core.models.catalogue.entry import Entry, unlisted_entry
from reame_core.models.model_file import expanded, missing, shard_stem
from reame_core.models.sources import RemoteSource, is_reference, parse_source
from reame_core.models.wording import alternatives, nearest, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model file and what to call the model."""

    name: str
    path: Path


class ModelNotHere(ModelError):
    """A model that is known, and has to be brought onto this machine first."""

    def __init__(self, entry: Entry, message: str) -> None:
        super().__init__(message)
        self.entry = entry


def resolve(model: str, catalogue: Catalogue | None = None) -> ResolvedModel:
    """The file of ``model``: a name of the catalogue, a source such as ``hf:ORG/REPO``, or a path (it has a
    separator, ends in ``.gguf``, or something of that name exists).

    Raises UnknownModel for a name nobody knows, ModelNotHere for one that is not on this machine, ModelError
    for a missing or damaged file. Whether the file is a sound model is for ``read_header`` to tell."""
    catalogue = catalogue or open_catalogue()
    if not is_reference(model) and _looks_like_path(model):
        return _from_path(model, catalogue)
    entry = _entry(model, catalogue)
    if entry is not None:
        return _from_entry(entry, catalogue)
    if _exists(model):
        return _from_path(model, catalogue)
    raise UnknownModel(_unknown(model, catalogue.all()))


def find_entry(model: str, catalogue: Catalogue) -> Entry:
    """The entry of a name or a source, here or not. Raises UnknownModel or ModelError."""
    entry = _entry(model, catalogue)
    if entry is None:
        raise UnknownModel(_unknown(model, catalogue.all()))
    return entry


def _entry(model: str, catalogue: Catalogue) -> Entry | None:
    if not model.strip():
        raise UnknownModel("the model's name is empty: give a name of the catalogue or the path of a GGUF file")
    if is_reference(model):
        return _of_source(model, catalogue)
    return catalogue.find(model)


def _of_source(reference: str, catalogue: Catalogue) -> Entry:
    try:
        source = parse_source(reference)
    except ValueError as error:
        raise ModelError(f"the model {error}") from None
    return catalogue.fetched_from(source.reference) or unlisted_entry(source)


def _looks_like_path(model: str) -> bool:
    separators = {os.sep, os.altsep or os.sep}
    return any(separator in model for separator in separators) or model.strip().lower().endswith(".gguf")


def _from_path(model: str, catalogue: Catalogue) -> ResolvedModel:
    path = next((given for given in (model, model.strip()) if _exists(given)), None)
    if path is not None:
        found = expanded(path)
        return ResolvedModel(shard_stem(found.name), found)
    asked = expanded(model.strip())
    named = shard_stem(asked.name)
    if asked.parent == Path() and catalogue.find(named) is not None:
        raise ModelError(
            f"there is no file {printable(asked)} here: did you mean the model {printable(named)}?"
        )
    raise ModelError(missing(asked))


def _from_entry(entry: Entry, catalogue: Catalogue) -> ResolvedModel:
    shown = printable(entry.name or entry.source.reference)
    path = catalogue.here(entry)
    if path is None:
        fetching = f"fetch it with reame pull {shown}"
        remedy = fetching if isinstance(entry.source, RemoteSource) else entry.source.remedy
        raise ModelNotHere(entry, f"the model {shown} is not on this machine: {remedy}")
    if damage := catalogue.folder.damage(entry.name) if _is_in_folder(path, catalogue) else None:
        raise ModelError(f"{damage}: fetch it again with reame pull {shown}")
    return ResolvedModel(entry.name, path)


def _is_in_folder(path: Path, catalogue: Catalogue) -> bool:
    return path.parent == catalogue.folder.path


def _unknown(model: str, names: Iterable[str]) -> str:
    shown = f"there is no model named {printable(model)!r}"
    close = nearest(model.replace(":", "-"), names)
    if close:
        return f"{shown}: did you mean {alternatives(close)}? (reame list shows all names)"
    listed = sorted(names)
    some = ", ".join(printable(name) for name in listed[:_MOST_NAMES_SHOWN])
    more = f" and {len(listed) - _MOST_NAMES_SHOWN} more" if len(listed) > _MOST_NAMES_SHOWN else ""
    return f"{shown}; known are {some}{more} (reame list), or give the path of a GGUF file"


def _exists(path: str) -> bool:
    try:
        return expanded(path).exists()
    except (OSError, ValueError):
        return False
