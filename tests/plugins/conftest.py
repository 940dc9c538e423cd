from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection


@dataclass
class FakeEntryPoint:
    """Stands in for ``importlib.metadata.EntryPoint``: loads an object, raises it, or calls it."""

    name: str
    plugin: Any
    distribution: str | None = None
    loads: list[str] = field(default_factory=list)

    @property
    def dist(self) -> Any:
        if self.distribution is None:
            return None
        return SimpleNamespace(name=self.distribution, version="1.2")

    def load(self) -> Any:
        self.loads.append(self.name)
        if isinstance(self.plugin, BaseException):
            raise self.plugin
        return self.plugin


@pytest.fixture
def entry_point() -> type[FakeEntryPoint]:
    return FakeEntryPoint


@pytest.fixture
def manager_of() -> Callable[..., PluginManager]:
    """``manager_of(a=plugin, b=plugin, order=("b",), strict=True)``: a manager with these plugins."""

    def make(
        *, builtins: tuple[tuple[str, object], ...] = (), trace: bool | None = None, **named: Any
    ) -> PluginManager:
        settings = {
            key: named.pop(key) for key in ("disable", "only", "order", "strict", "folder") if key in named
        }
        entry_points: list[Any] = [
            FakeEntryPoint(name, plugin, f"reame-{name}") for name, plugin in named.items()
        ]
        return PluginManager(
            PluginSelection(**settings), builtins=builtins, entry_points=entry_points, trace=trace
        )

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "plugins"
    path.mkdir()
    return path


@pytest.fixture(autouse=True)
def _forget_imported_plugins() -> Any:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("reame_plugin_file_", "fake_reame_")):
            del sys.modules[name]
