"""A model without a file, as the server is handed it. Imports little: it is also used by processes."""

from __future__ import annotations

import os
import threading
from typing import Any

from reame_core.config import Flag, Settings, load_settings
from reame_core.engine.backend import Rows
from reame_core.testing import FakeBackend
from reame_core.testing import serving as testing
from reame_core.testing.serving import PATIENCE


class GatedBackend(FakeBackend):
    """Batches are computed only as they are allowed, so that tests decide how far a request has come."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._changed = threading.Condition()
        self._allowed: int | None = None
        self._blocked = 0

    def hold(self) -> None:
        """No batch from now on."""
        self.allow(0, anew=True)

    def allow(self, count: int | None, *, anew: bool = False) -> None:
        """So many more batches; None for any number."""
        with self._changed:
            before = 0 if anew or self._allowed is None else self._allowed
            self._allowed = None if count is None else before + count
            self._changed.notify_all()

    def wait_until_blocked(self) -> None:
        """Until the engine wants to compute a batch that is not allowed."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._blocked > 0, PATIENCE)

    def decode(self, rows: Rows) -> None:
        with self._changed:
            self._blocked += 1
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self._allowed is None or self._allowed > 0, PATIENCE)
            self._blocked -= 1
            if self._allowed is not None:
                self._allowed -= 1
        super().decode(rows)


class FakeModel(testing.FakeModel):
    """With a gate that opens at the end."""

    def close(self) -> None:
        if isinstance(self.backend, GatedBackend):
            self.backend.allow(None)
        super().close()


def settings_with(**values: object) -> Settings:
    """Settings as if by flags; ``sampling__top_k`` is ``sampling.top_k``, others are the server's."""
    flags = []
    for name, value in values.items():
        section, _, key = name.rpartition("__")
        text = [str(each) for each in value] if isinstance(value, (list, tuple)) else str(value)
        flags.append(Flag("--test", f"{section or 'server'}.{key}", text))
    ours = {name: value for name, value in os.environ.items() if name.startswith("REAME_SERVER__")}
    return load_settings(flags, environment={"REAME_HOME": "/nonexistent", **ours})
