"""A server on the fake model, in this process: real HTTP, a real event loop, no model file."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import openai
import uvicorn
from hypothesis import HealthCheck, settings

from reame_core.config import Flag, Settings, load_settings
from reame_core.engine.backend import ModelInfo, Rows
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.verification import CoreVerifier
from reame_core.engine.worker import EngineWorker
from reame_core.models.chat_template import ChatTemplate
from reame_core.plugins.manager import PluginManager
from reame_core.server.api_keys import configured_keys
from reame_core.server.app import create_app
from reame_core.server.plugin_routes import add_plugin_routes
from reame_core.server.state import ServerState
from reame_core.testing import FakeBackend

PATIENCE = 20.0
"""Seconds after which a test that waits for something has failed."""
few_examples = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


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
    return load_settings(flags, environment={"REAME_HOME": "/nonexistent", "REAME_CONFIG": ""})


@dataclass
class Running:
    """A server that answers."""

    url: str
    state: ServerState
    model: FakeModel
    loop: asyncio.AbstractEventLoop
    http: httpx.Client

    @property
    def backend(self) -> FakeBackend:
        return self.model.backend

    @property
    def gate(self) -> GatedBackend:
        assert isinstance(self.model.backend, GatedBackend)
        return self.model.backend

    def openai(self, **options: Any) -> openai.OpenAI:
        options.setdefault("max_retries", 0)
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", **options)

    def chat(self, text: str = "Say hi", **fields: Any) -> httpx.Response:
        return self.http.post("/v1/chat/completions", json=chat_body(text, **fields))

    def complete(self, prompt: Any = "Once", **fields: Any) -> httpx.Response:
        return self.http.post("/v1/completions", json={"model": "fake", "prompt": prompt, **fields})

    def chunks(self, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The events of a stream that ends as it should."""
        response = self.http.post(path, json={**body, "stream": True})
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        return events_of(response.text)

    def on_loop(self, action: Callable[[], Any]) -> Any:
        """Run ``action`` on the server's event loop."""

        async def run() -> Any:
            return action()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(PATIENCE)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Until ``condition`` holds on the event loop, which is looked at after each of its turns."""

        async def watch() -> None:
            while not condition():
                await asyncio.sleep(0.001)

        asyncio.run_coroutine_threadsafe(watch(), self.loop).result(PATIENCE)

    def wait_until_idle(self) -> None:
        """Until no request is under way and the engine has nothing to do."""
        self.wait_until(lambda: not self.state.exchanges and self.model.worker.engine.idle)

    def metric(self, name: str, **labels: str) -> float:
        """The value of one sample of /metrics; 0 where there is none yet."""
        return self.state.metrics.registry.get_sample_value(name, labels) or 0.0


def chat_body(text: str = "Say hi", **fields: Any) -> dict[str, Any]:
    return {"model": "fake", "messages": [{"role": "user", "content": text}], **fields}


def events_of(text: str) -> list[dict[str, Any]]:
    """The JSON events of a complete stream; its form is checked."""
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    assert blocks[-1] == "data: [DONE]"
    assert all(block.startswith("data: ") and "\n" not in block for block in blocks)
    return [json.loads(block.removeprefix("data: ")) for block in blocks[:-1]]


def content_of(chunks: Sequence[dict[str, Any]], index: int = 0) -> str:
    """The joined text of one choice of a chat stream."""
    choices = [choice for chunk in chunks for choice in chunk["choices"] if choice["index"] == index]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


@contextlib.contextmanager
def running(
    model: FakeModel | None = None,
    settings: Settings | None = None,
    *,
    loaded: bool = True,
    send_buffer: int | None = None,
) -> Iterator[Running]:
    """A server on a free port of this machine, until the context ends. ``send_buffer`` bytes are what the
    kernel takes of a response that nobody reads."""
    model = model or FakeModel(FakeBackend(cells=4096))
    settings = settings or settings_with()
    started = threading.Event()
    made: dict[str, Any] = {}

    async def main() -> None:
        state = ServerState(settings, configured_keys(settings.values.server))
        app = create_app(state)
        if loaded:
            add_plugin_routes(app, state, model)
            state.model_loaded(model)
        listener = socket.create_server(("127.0.0.1", 0))
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
    assert started.wait(PATIENCE)
    try:
        with httpx.Client(base_url=made["url"], timeout=PATIENCE) as client:
            yield Running(made["url"], made["state"], model, made["loop"], client)
    finally:
        model.close()
        made["http"].should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()
