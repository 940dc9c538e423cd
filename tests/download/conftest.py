from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from reame_core.models.download.web import Web
from reame_core.models.folder import ModelsFolder
from tests.download import file_server
from tests.download.file_server import FileServer
from tests.download.puller import Puller

NOT_FROM_THIS_MACHINE = ("HF_", "REAME_")


def a_model(size: int = 700_000, fill: int = 7) -> bytes:
    """A sound GGUF file of one tensor, of about ``size`` bytes."""
    elements = size // 2 // 32 * 32
    name = b"token_embd.weight"
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, 0)
    header += struct.pack("<Q", len(name)) + name + struct.pack("<IQIQ", 1, elements, 1, 0)
    header += bytes(-len(header) % 32)
    # No two places look alike, so that a piece in the wrong place shows.
    data = b"".join(struct.pack("<I", (fill << 24) + i) for i in range(elements // 2))
    return header + data


@pytest.fixture(scope="session")
def model() -> bytes:
    return a_model()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with file_server.running() as running:
        yield running


@pytest.fixture
def cdn() -> Iterator[FileServer]:
    with file_server.running() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> ModelsFolder:
    return ModelsFolder(tmp_path / "home" / "models")


@pytest.fixture
def pauses() -> list[float]:
    """What was slept, in seconds."""
    return []


@pytest.fixture
def web(pauses: list[float]) -> Web:
    return Web(sleep=pauses.append, now=lambda: 1_700_000_000.0, timeout_s=10.0)


@pytest.fixture(autouse=True)
def _no_foreign_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(NOT_FROM_THIS_MACHINE) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def puller(server: FileServer, folder: ModelsFolder, web: Web, model: bytes) -> Puller:
    server.files["/m.gguf"] = model
    return Puller(server, folder, web)
