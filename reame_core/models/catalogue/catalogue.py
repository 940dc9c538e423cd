"""All models that have a name.

A name means, in this order: a file of the models folder, an entry of the user's own catalogues, a built-in
entry, an entry of a plugin. Plugins are asked last because they have to be loaded for that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reame_core.errors import ModelError
from reame_core.models.catalogue.entry import Entry, folder_entry
from reame_core.models.catalogue.tables import built_in, plugin_entries, read_catalogue
from reame_core.models.folder import ModelsFolder, Receipt
from reame_core.models.sources import RemoteSource

if TYPE_CHECKING:
    from reame_core.config.schema import ModelSettings

FILE_NAME = "models.toml"
"""The user's catalogue, in the directory of ``reame.toml``."""

PluginAnswers = Callable[[], Iterable[tuple[str, object]]]
"""Asks the hook ``register_models``: (plugin, answer)."""


class Catalogue:
    """The names of this user. Reads files when something is asked for that is in them."""

    def __init__(
        self,
        folder: ModelsFolder | None,
        files: tuple[Path, ...] = (),
        plugin_answers: PluginAnswers = tuple,
    ) -> None:
        self._folder = folder
        self._files = files
        self._plugin_answers = plugin_answers

    @property
    def folder(self) -> ModelsFolder:
        """Raises ModelError for a user without a home."""
        if self._folder is None:
            raise ModelError("this user has no home folder to keep models in: set REAME_HOME or model.folder")
        return self._folder

    def find(self, name: str) -> Entry | None:
        """The entry called so. Raises ConfigError for a catalogue that cannot be read."""
        for layer in (self._own, built_in(), self._in_folder):
            if name in layer:
                return layer[name]
        return self._of_plugins.get(name)

    def all(self) -> dict[str, Entry]:
        """Every entry, by name and in its order."""
        merged = {**self._in_folder, **self._of_plugins, **built_in(), **self._own}
        return dict(sorted(merged.items()))

    def here(self, entry: Entry) -> Path | None:
        """The entry's file, if it is on this machine."""
        if self._folder is not None and (path := self._folder.find(entry.name)) is not None:
            return path
        return None if isinstance(entry.source, RemoteSource) else entry.source.file()

    def receipt(self, entry: Entry) -> Receipt | None:
        """Of a model that was fetched."""
        return self._folder.receipt(entry.name) if self._folder is not None and entry.name else None

    def unfinished(self, entry: Entry) -> list[Path]:
        """What is here of a download that has not ended."""
        return self._folder.parts(entry.name) if self._folder is not None and entry.name else []

    def fetched_from(self, reference: str) -> Entry | None:
        """The model of the folder that was fetched from this source."""
        name = self._folder.fetched_from(reference) if self._folder is not None else None
        return self.find(name) if name is not None else None

    @property
    def _in_folder(self) -> dict[str, Entry]:
        if self._folder is None:
            return {}
        entries = {}
        for name, path in self._folder.models().items():
            receipt = self._folder.receipt(name)
            entries[name] = folder_entry(name, path, receipt.asked if receipt else None)
        return entries

    @cached_property
    def _own(self) -> dict[str, Entry]:
        merged: dict[str, Entry] = {}
        for file in self._files:
            merged |= read_catalogue(file)
        return merged

    @cached_property
    def _of_plugins(self) -> Mapping[str, Entry]:
        return plugin_entries(self._plugin_answers())


def open_catalogue(
    settings: ModelSettings | None = None,
    plugin_answers: PluginAnswers = tuple,
    environ: Mapping[str, str] | None = None,
) -> Catalogue:
    """The catalogue by the settings ``model.folder`` and ``model.catalogue``, by default that of the user's
    directories."""
    environ = os.environ if environ is None else environ
    files = [file for file in (_user_file(environ),) if file is not None]
    if settings is not None and settings.catalogue is not None:
        files.append(Path(settings.catalogue))
    folder = models_folder(settings, environ)
    return Catalogue(ModelsFolder(folder) if folder is not None else None, tuple(files), plugin_answers)


def models_folder(
    settings: ModelSettings | None = None, environ: Mapping[str, str] | None = None
) -> Path | None:
    """Where models are kept; None where this user has no home. It need not exist."""
    if settings is not None and settings.folder is not None:
        return Path(settings.folder)
    from reame_core.config.directories import directories

    try:
        folder = directories(environ).models
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None


def _user_file(environ: Mapping[str, str]) -> Path | None:
    from reame_core.config.directories import directories

    try:
        file = directories(environ).config / FILE_NAME
    except RuntimeError:
        return None
    return file if os.path.lexists(file) else None
