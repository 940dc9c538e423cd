"""A store for the tests of this plugin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plugins.reame_arca.tests.proxy import Proxy, proxy_to
from plugins.reame_arca.tests.real_store import RealStore, real_store


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the store may take longer than users would wait."""
    monkeypatch.setattr("reame_core.engine.restoring.MOST_WAITED_S", 5.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RealStore]:
    """A real store, empty; skipped where none is installed."""
    folder = tmp_path / "store"
    folder.mkdir()
    with real_store(folder) as running:
        yield running


@pytest.fixture
def proxy(store: RealStore) -> Iterator[Proxy]:
    """Before ``store``."""
    with proxy_to(store.port) as running:
        yield running
