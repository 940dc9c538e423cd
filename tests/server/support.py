"""A server on the fake model, in this process: real HTTP, a real event loop, no model file."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import openai
from hypothesis import HealthCheck, settings

from reame_core.config import Settings
from reame_core.server.state import ServerState
from reame_core.testing import FakeBackend
from reame_core.testing.serving import listening
from tests.server.fake_model import PATIENCE, FakeModel, GatedBackend, settings_with

__all__ = ["PATIENCE", "FakeModel", "GatedBackend", "Running", "running", "settings_with"]

few_examples = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


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
    try:
        with (
            listening(model, settings, loaded=loaded, send_buffer=send_buffer) as (url, (state, loop)),
            httpx.Client(base_url=url, timeout=PATIENCE) as client,
        ):
            try:
                yield Running(url, state, model, loop, client)
            finally:
                model.close()  # while there is somebody to tell that requests were cancelled
    finally:
        model.close()
