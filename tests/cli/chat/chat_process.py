"""``reame`` in a process of its own, on the fake model. ``CHAT_REPLIES``: what it says, as JSON.
``CHAT_GATE``: a descriptor from which each batch needs a byte before it is computed, until its other end is
closed."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from reame_core.testing import FakeBackend

sys.path.insert(0, str(Path(__file__).parent))
from fake_session import FakeSession  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTEXT = 2048


class GatedBackend(FakeBackend):
    def decode(self, rows: Any) -> None:
        if "CHAT_GATE" in os.environ:
            os.read(int(os.environ["CHAT_GATE"]), 1)
        super().decode(rows)


@contextmanager
def open_session(*_: object, **__: object) -> Iterator[FakeSession]:
    replies = json.loads(os.environ["CHAT_REPLIES"])
    session = FakeSession(GatedBackend(cells=CONTEXT, max_rows=32, replies=replies), CONTEXT)
    yield session
    session.close()


module = ModuleType("reame_core.session")
module.open_session = open_session  # type: ignore[attr-defined]
sys.modules[module.__name__] = module

from reame_core.cli import main  # noqa: E402

main()
