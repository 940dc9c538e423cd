"""A folder, a server and sessions for the code of the pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.docs import world


@pytest.fixture(scope="session", autouse=True)
def _quiet_log() -> Iterator[None]:
    structlog.configure(processors=[structlog.testing.LogCapture()])
    yield
    structlog.reset_defaults()


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, without settings from this machine."""
    for name in os.environ:
        if name.startswith("REAME_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("REAME_HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with every plugin on the fake model."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("REAME_"):
                patch.delenv(name)
        patch.setenv("REAME_HOME", str(tmp_path_factory.mktemp("server")))
        with world.served() as address:
            patch.undo()
            yield address


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of this process are on the fake backend."""
    import reame_core.session

    monkeypatch.setattr(reame_core.session, "open_session", world.opened)
