"""A model without a file, as the server is handed it. Imports little: it is also used by processes."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import Any

from reame_core.config import Flag, Settings, load_settings
from reame_core.engine.backend import ModelInfo, Rows
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.verification import CoreVerifier
from reame_core.engine.worker import EngineWorker
from reame_core.models.chat_template import ChatTemplate
from reame_core.plugins.manager import PluginManager
from reame_core.testing import FakeBackend

PATIENCE = 20.0
"""Seconds after which a test that waits for something has failed."""


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


@dataclass
class FakeModel:
    """What ``reame_core.session`` opens, on a fake backend."""

    backend: FakeBackend
    plugins: PluginManager = field(
        default_factory=lambda: PluginManager(builtins=(("core", CoreVerifier()),), entry_points=[])
    )
    context_length: int = 512
    parallel: int = 4
    queue: int = 64

    def __post_init__(self) -> None:
        options = EngineOptions(
            context_length=self.context_length, parallel=self.parallel, max_rows=self.backend.info.max_rows
        )
        self.worker = EngineWorker(
            Engine(self.backend, options, self.plugins.engine_hooks()), queue_limit=self.queue
        )
        self.template = ChatTemplate.for_model(self.info)
        self.description = {"threads": "1"}

    @property
    def info(self) -> ModelInfo:
        return self.backend.info

    def close(self) -> None:
        if isinstance(self.backend, GatedBackend):
            self.backend.allow(None)
        self.worker.close(PATIENCE)


def settings_with(**values: object) -> Settings:
    """Settings as if by flags; ``sampling__top_k`` is ``sampling.top_k``, others are the server's."""
    flags = []
    for name, value in values.items():
        section, _, key = name.rpartition("__")
        text = [str(each) for each in value] if isinstance(value, (list, tuple)) else str(value)
        flags.append(Flag("--test", f"{section or 'server'}.{key}", text))
    ours = {name: value for name, value in os.environ.items() if name.startswith("REAME_SERVER__")}
    return load_settings(flags, environment={"REAME_HOME": "/nonexistent", **ours})
