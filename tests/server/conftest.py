"""One server for all tests that only ask, and a quiet log."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog

from reame_core.testing import FakeBackend
from tests.server import support


@pytest.fixture(scope="session", autouse=True)
def _quiet_log() -> Iterator[None]:
    structlog.configure(processors=[structlog.testing.LogCapture()])
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def shared() -> Iterator[support.Running]:
    backend = FakeBackend(
        cells=8192,
        replies={
            "Say hi": "Hello there!",
            "Say emoji": "👩‍🚀 你好 é 🇪🇸",
            "Say greek": "alpha beta gamma delta",
        },
    )
    with support.running(support.FakeModel(backend)) as server:
        yield server
