"""A session on the fake model, with what a chat asks of one. Imports nothing of llama.cpp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.worker import EngineWorker
from reame_core.models.chat_template import ChatTemplate
from reame_core.models.prompt import chat_tokens
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager
from reame_core.testing import FakeBackend, FakeClock

if TYPE_CHECKING:
    from reame_core.engine.event_stream import EventStream
    from reame_core.engine.request import Request


class FakeSession:
    """The engine is a real one."""

    chat_stops = ()

    def __init__(self, backend: FakeBackend, context: int) -> None:
        plugins = PluginManager(builtins=BUILT_IN_PLUGINS, entry_points=[])
        options = EngineOptions(context_length=context, parallel=1, max_rows=backend.info.max_rows)
        # On real time a slow moment teaches the engine to add rows to its batches, and tests count those.
        clock = backend.clock = backend.clock or FakeClock()
        self.worker = EngineWorker(Engine(backend, options, plugins.engine_hooks(), clock))
        self.info = backend.info
        self.description = {"threads": "1"}
        self._backend = backend
        self._template = ChatTemplate.for_model(self.info)

    def chat_tokens(self, messages: list[dict[str, object]]) -> tuple[int, ...]:
        return chat_tokens(self._backend, self._template, messages)

    def stream(self, request: Request) -> EventStream:
        return self.worker.stream(request)

    def close(self) -> None:
        self.worker.close(20)
