"""The HTTP server on the fake model, in this process: real sockets, a real event loop, no model file."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from reame_core.config import Settings, load_settings
from reame_core.engine.backend import ModelInfo
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.worker import EngineWorker
from reame_core.models.chat_template import ChatTemplate
from reame_core.plugins.api import PluginContext
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager
from reame_core.server.api_keys import configured_keys
from reame_core.server.app import create_app
from reame_core.server.plugin_routes import add_plugin_routes
from reame_core.server.state import ServedModel, ServerState
from reame_core.testing.fake_backend import FakeBackend

PATIENCE = 20.0
"""Seconds after which something hangs."""


@dataclass
class FakeModel:
    """What ``reame_core.session`` opens, on a fake backend. ``plugins`` have been started."""

    backend: FakeBackend
    plugins: PluginManager = field(
        default_factory=lambda: PluginManager(builtins=BUILT_IN_PLUGINS, entry_points=[])
    )
    context_length: int = 512
    parallel: int = 4
    queue: int = 64

    def __post_init__(self) -> None:
        options = EngineOptions(
            context_length=self.context_length, parallel=self.parallel, max_rows=self.backend.info.max_rows
        )
        engine = Engine(self.backend, options, self.plugins.engine_hooks())
        self.worker = EngineWorker(engine, queue_limit=self.queue)
        self.template = ChatTemplate.for_model(self.info)
        self.description: Mapping[str, object] = {"threads": "1"}

    @property
    def info(self) -> ModelInfo:
        return self.backend.info

    def close(self) -> None:
        self.worker.close(PATIENCE)


@contextmanager
def serving(
    plugin: object = None,
    *,
    options: dict[str, object] | None = None,
    replies: Mapping[str, str] | None = None,
    settings: Settings | None = None,
    name: str = "checked",
) -> Iterator[str]:
    """The address of a server with ``plugin`` and its ``options``. ``replies`` are those of ``FakeBackend``."""
    backend = FakeBackend(cells=4096, replies=replies)
    own = [] if plugin is None else [(name, plugin)]
    manager = PluginManager(builtins=[*own, *BUILT_IN_PLUGINS], entry_points=[])
    context = PluginContext(
        backend.info,
        options or {},
        {"model": "fake"},
        tokenizer="fake",
        piece=backend.piece,
        tokenize=backend.tokenize,
    )
    manager.startup(lambda _: context)
    model = FakeModel(backend, manager)
    try:
        with listening(model, settings or load_settings([], environment={})) as (url, _):
            yield url
    finally:
        model.close()
        manager.shutdown()


@contextmanager
def listening(
    model: ServedModel, settings: Settings, *, loaded: bool = True, send_buffer: int | None = None
) -> Iterator[tuple[str, tuple[ServerState, asyncio.AbstractEventLoop]]]:
    """A server for ``model`` on a free port of this machine, until the context ends: its address, and what runs
    it. ``send_buffer`` bytes are what the kernel takes of a response that nobody reads."""
    started = threading.Event()
    made: dict[str, Any] = {}

    async def main() -> None:
        state = ServerState(settings, configured_keys(settings.values.server))
        app = create_app(state)
        if loaded:
            add_plugin_routes(app, state, model)
            state.model_loaded(model)
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if send_buffer is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        config = uvicorn.Config(
            app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1, ws="none"
        )
        http = uvicorn.Server(config)
        made.update(state=state, http=http, loop=asyncio.get_running_loop())
        made["url"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
        started.set()
        await http.serve(sockets=[listener])

    thread = threading.Thread(target=lambda: asyncio.run(main()), name="test-server", daemon=True)
    thread.start()
    if not started.wait(PATIENCE):
        raise RuntimeError("the server did not start")
    try:
        yield made["url"], (made["state"], made["loop"])
    finally:
        made["http"].should_exit = True
        thread.join(PATIENCE)
        if thread.is_alive():
            raise RuntimeError("the server did not stop")
