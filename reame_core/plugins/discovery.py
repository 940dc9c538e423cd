"""Where plugins come from. Nothing is imported before ``Candidate.load`` is called."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

from reame_core.errors import PluginError
from reame_core.plugins.compatibility import stated_requirement
from reame_core.plugins.names import normalise

GROUP = "reame"
OBJECT_NAME = "plugin"
"""A file whose hooks are methods of an object keeps that object under this name."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A plugin that was found and may be loaded."""

    name: str
    source: str
    """``entry point``, ``file PATH`` or ``built in``."""
    load: Callable[[], object]
    """Import it: the module or object with the hooks. Raises whatever the plugin's import raises."""
    distribution: str | None = None
    version: str | None = None
    requirement: str = ""
    """Which versions of Reame the distribution wants; empty where it does not say."""
    built_in: bool = False

    @property
    def origin(self) -> str:
        """For messages: where to look for it."""
        if self.distribution:
            return f"{self.distribution} {self.version or '(unknown version)'}"
        return self.source


def discover(folder: Path | None, entry_points: Sequence[EntryPoint] | None = None) -> list[Candidate]:
    """All installed plugins and those of ``folder``, in an order that does not depend on the file system
    or on ``sys.path``. ``entry_points`` stands in for the installed ones."""
    found = _from_entry_points(entry_points)
    if folder is not None:
        found += _from_folder(folder)
    return sorted(found, key=lambda each: (normalise(each.name), each.source, each.distribution or ""))


def built_in(name: str, plugin: object) -> Candidate:
    """A plugin that is part of Reame."""
    return Candidate(name, "built in", lambda: plugin, built_in=True)


def _from_entry_points(entry_points: Sequence[EntryPoint] | None) -> list[Candidate]:
    if entry_points is None:
        entry_points = tuple(importlib.metadata.entry_points(group=GROUP))
    return [Candidate(each.name, "entry point", each.load, *_distribution(each)) for each in entry_points]


def _distribution(entry_point: EntryPoint) -> tuple[str | None, str | None, str]:
    """Name, version and what it wants of Reame; None and nothing where the distribution's metadata is missing
    or damaged."""
    try:
        distribution = entry_point.dist
        if not distribution:
            return None, None, ""
        return (
            distribution.name,
            distribution.version,
            stated_requirement(getattr(distribution, "requires", None)),
        )
    # Which exception this is depends on the version of Python.
    except Exception:
        return None, None, ""


def _from_folder(folder: Path) -> list[Candidate]:
    try:
        files = [path for path in folder.iterdir() if path.suffix == ".py" and path.is_file()]
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise PluginError(f"plugins.folder {str(folder)!r} cannot be read: {reason}") from error
    return [
        Candidate(path.stem, f"file {path}", _file_loader(path))
        for path in files
        if not path.name.startswith("_")
    ]


def _file_loader(path: Path) -> Callable[[], object]:
    module_name = "reame_plugin_file_" + normalise(path.stem).replace("-", "_")

    def load() -> object:
        spec = importlib.util.spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is not a Python module")
        module = importlib.util.module_from_spec(spec)
        # Dataclasses look their own module up in sys.modules while it is being executed.
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[module_name]
            raise
        return getattr(module, OBJECT_NAME, module)

    return load
