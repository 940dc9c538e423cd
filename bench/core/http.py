"""Streaming over HTTP against the engine on its own thread without HTTP, same model, same run: tokens a second,
alone and four at once, what is added to the time to the first token, and how long GET /health takes meanwhile.
The client is a process of its own on the same machine, so that what it costs is in the figures."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
import uvicorn

from bench.case import Case
from bench.report import Figure, Result, Target
from bench.rounds import percentile, ratios, rounds
from reame_core.config import load_settings
from reame_core.engine.backend import ModelInfo
from reame_core.engine.events import Event, Failed, Finished, TextDelta
from reame_core.engine.request import Request
from reame_core.engine.worker import EngineWorker
from reame_core.models.chat_template import ChatTemplate
from reame_core.plugins.manager import PluginManager
from reame_core.server.app import create_app
from reame_core.server.state import ServerState

PROMPT, TOKENS, USERS = 64, 96, 4
_LEAST = 48
"""So that there is a while in which all streams decode."""

Prompts = list[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _Times:
    """``rate``: tokens a second of all streams together, while all of them decode. Seconds otherwise."""

    rate: float
    first: float
    health: list[float]


def measure(case: Case, result: Result) -> None:
    tokens = max(case.size(TOKENS), _LEAST)
    prompts = [case.prompt(PROMPT) for _ in range(USERS)]
    # One line a request would come between the tables.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with _Client() as client:
        contestants = {
            "engine 1": lambda: _by_engine(case, prompts[:1], tokens),
            "http 1": lambda: _by_http(case, client, prompts[:1], tokens),
            "engine 4": lambda: _by_engine(case, prompts, tokens),
            "http 4": lambda: _by_http(case, client, prompts, tokens),
        }
        contestants["http 1"]()  # reads the weights in, and imports what serves
        times = rounds(case.rounds, contestants, case.quiet)
        asking = [_by_http(case, client, prompts[:1], tokens, health=True) for _ in range(case.rounds)]
    rate = {name: [one.rate for one in times[name]] for name in contestants}
    added = [
        1000 * (ours.first - own.first) for ours, own in zip(times["http 1"], times["engine 1"], strict=True)
    ]
    health = [1000 * seconds for one in asking for seconds in one.health]
    enough = Target("≥", 0.97)
    result.figures += [
        Figure.of("HTTP / engine, tokens a second", ratios(rate["http 1"], rate["engine 1"]), target=enough),
        Figure.of(
            f"{USERS} streams at once, HTTP / engine", ratios(rate["http 4"], rate["engine 4"]), target=enough
        ),
        Figure.of("added to the time to the first token", added, "ms", Target("≤", 5)),
        Figure.of("GET /health while decoding", health, "ms"),
        Figure("the same, slowest", max(health), "ms", target=Target("≤", 50)),
        Figure("the same, 95 % within", percentile(health, 95), "ms"),
        *(Figure.of(name, rate[name], "tokens/s") for name in contestants),
    ]
    result.notes.append(
        f"prompts of {PROMPT} tokens, answers of {tokens}; rates while all streams decode; "
        f"/health was asked {len(health)} times"
    )


def _by_engine(case: Case, prompts: Prompts, tokens: int) -> _Times:
    # On a worker's thread, as in the server: on the main thread of this process the same loop is slower.
    worker = EngineWorker(case.engine())
    streams = [_Direct() for _ in prompts]
    started = time.perf_counter()
    try:
        for stream, prompt in zip(streams, prompts, strict=True):
            request = Request(prompt=prompt, max_tokens=tokens, ignore_end=True, reuse=False)
            worker.submit(request, stream.take)
        for stream in streams:
            stream.wait()
    finally:
        worker.close()
    times = [[t - started for t in stream.times] for stream in streams]
    return _times([(each[0], each) for each in times], tokens, [])


class _Direct:
    """Takes the events of one request on the engine thread."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._ended = threading.Event()
        self._failure: Exception | None = None

    def take(self, events: list[Event]) -> None:
        now = time.perf_counter()
        for event in events:
            if isinstance(event, TextDelta):
                self.times.append(now)
            elif isinstance(event, Failed):
                self._failure = event.error
            if isinstance(event, Finished | Failed):
                self._ended.set()

    def wait(self) -> None:
        self._ended.wait()
        if self._failure is not None:
            raise self._failure


def _by_http(case: Case, client: _Client, prompts: Prompts, tokens: int, *, health: bool = False) -> _Times:
    with _serving(case) as port:
        answer = client.ask(port=port, prompts=prompts, tokens=tokens, health=health)
    return _times([(stream[0], stream) for stream in answer["streams"]], tokens, answer["health"])


def _times(streams: list[tuple[float, list[float]]], tokens: int, health: list[float]) -> _Times:
    """Of ``streams``: seconds to the first token, and to each (all from nearly the same moment). A chunk of a
    stream may hold several of the ``tokens``."""
    begin = max(first for first, _ in streams)
    end = min(times[-1] for _, times in streams)
    if begin >= end:
        raise RuntimeError("the streams did not overlap")
    count = 0.0
    for _, times in streams:
        count += sum(begin < t <= end for t in times) * (tokens - 1) / (len(times) - 1)
    return _Times(count / (end - begin), streams[0][0], health)


@dataclass
class _Model:
    """What ``reame_core.session`` opens, without plugins and on a model that is loaded already."""

    worker: EngineWorker
    template: ChatTemplate
    plugins: PluginManager = field(default_factory=lambda: PluginManager(builtins=(), entry_points=[]))
    description: dict[str, object] = field(default_factory=dict)

    @property
    def info(self) -> ModelInfo:
        return self.worker.engine.backend.info


@contextmanager
def _serving(case: Case) -> Iterator[int]:
    """A server on a new engine; its port."""
    model = _Model(EngineWorker(case.engine()), ChatTemplate.for_model(case.backend.info))
    started = threading.Event()
    made: dict[str, Any] = {}

    async def main() -> None:
        state = ServerState(
            load_settings([], environment={"REAME_HOME": "/nonexistent", "REAME_SERVER__ANY_MODEL": "true"})
        )
        state.model_loaded(model)
        config = uvicorn.Config(
            create_app(state), port=0, lifespan="off", log_config=None, access_log=False, ws="none"
        )
        made["http"] = http = uvicorn.Server(config)
        serving = asyncio.create_task(http.serve())
        while not http.started:
            await asyncio.sleep(0.01)
        made["port"] = http.servers[0].sockets[0].getsockname()[1]
        started.set()
        await serving

    thread = threading.Thread(target=lambda: asyncio.run(main()), name="bench-server", daemon=True)
    thread.start()
    started.wait(30)
    try:
        yield made["port"]
    finally:
        made["http"].should_exit = True
        thread.join()
        model.worker.close()


class _Client:
    """The process that asks; its code is ``bench.http_client``."""

    def __enter__(self) -> _Client:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.http_client"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, **order: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the client ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer
