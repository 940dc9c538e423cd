"""Driving an engine with the plugin on the fake backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from reame_diskkv.plugin import DiskKV
from reame_diskkv.prices import Prices
from reame_diskkv.service import Service

from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.events import Event, Failed, Finished, TextDelta, TokenLogprob, Usage
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.request import Request
from reame_core.plugins.api import PluginContext
from reame_core.plugins.guard import GuardedCall
from reame_core.testing import FakeBackend

BOS = 256
BLOCK = 16
NAMESPACE = {"model": "fake", "kv_cache_type": "f16"}


def words(count: int, salt: int = 0) -> tuple[int, ...]:
    """A prompt of ``count`` tokens, the beginning of one long text; another text for each ``salt``."""
    return (BOS, *_letters(salt)[: count - 1])


@cache
def _letters(salt: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng(salt).integers(97, 123, 8192).tolist())


def branch(prompt: tuple[int, ...], at: int, length: int, salt: int = 1) -> tuple[int, ...]:
    """A prompt of ``length`` tokens that leaves ``prompt`` after ``at``."""
    return (*prompt[:at], *words(length - at + 1, 1000 + salt)[1:])


@dataclass
class Answer:
    """What one choice of a request became."""

    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    text: str = ""
    finished: Finished | None = None
    error: Exception | None = None

    @property
    def usage(self) -> Usage:
        assert self.finished is not None, self.error
        return self.finished.usage

    @property
    def restored(self) -> int:
        return self.usage.reused.get("diskkv", 0)

    @property
    def said(self) -> tuple[object, ...]:
        return self.text, tuple(self.tokens), self.finished.reason if self.finished else type(self.error)


def request(prompt: tuple[int, ...], max_tokens: int | None = 8, **fields: Any) -> Request:
    return Request(prompt=prompt, max_tokens=max_tokens, **fields)


class AlwaysCheap(Prices):
    """The fake backend computes as fast as a disk reads: its prompts would not be worth reading."""

    def pays(self, tokens: int, size: int) -> bool:
        return True


class Server:
    """An engine on the fake backend, with the plugin started on a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        backend: FakeBackend | None = None,
        namespace: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
        other_hooks: Mapping[str, Callable[..., Any]] | None = None,
        measured_prices: bool = False,
        **engine: Any,
    ) -> None:
        self.backend = backend or FakeBackend(cells=1024)
        self.plugin = DiskKV()
        table = {"folder": str(folder), "block_tokens": BLOCK, "min_tokens": 4, **(options or {})}
        context = PluginContext(self.backend.info, table, NAMESPACE if namespace is None else namespace)
        self.plugin.startup(context)
        if self.plugin.service is not None and not measured_prices:
            self.service.cache.prices = AlwaysCheap()
        calls = {"on_prefill": self.plugin.on_prefill, "persist": self.plugin.persist}
        # Strict: a failure in a hook of this plugin is a failed test, not a line in a log.
        hooks = {name: GuardedHook((("diskkv", call),)) for name, call in calls.items()}
        for name, function in (other_hooks or {}).items():
            hooks[name] = GuardedHook((("other", GuardedCall("other", name, function, keep_on=True)),))
        engine = {"context_length": min(512, self.backend.info.kv_cells), **engine}
        self.engine = Engine(self.backend, EngineOptions(**engine), EngineHooks(**hooks))

    @property
    def service(self) -> Service:
        assert self.plugin.service is not None
        return self.plugin.service

    @property
    def counts(self) -> Any:
        return self.service.cache.counts

    def submit(self, asked: Request) -> list[Answer]:
        answers = [Answer() for _ in range(asked.n)]

        def sink(events: list[Event]) -> None:
            for event in events:
                answer = answers[event.choice]
                if isinstance(event, TextDelta):
                    answer.text += event.text
                    answer.tokens += event.tokens
                    answer.logprobs += event.logprobs
                elif isinstance(event, Finished):
                    answer.finished = event
                elif isinstance(event, Failed):
                    answer.error = event.error

        self.group = self.engine.submit(asked, sink)
        return answers

    def run(self) -> None:
        for _ in range(20_000):
            if not self.engine.step():
                break
        assert self.engine.idle

    def play(self, *asked: Request) -> list[list[Answer]]:
        answers = [self.submit(each) for each in asked]
        self.run()
        return answers

    def ask(self, prompt: tuple[int, ...], max_tokens: int | None = 8, **fields: Any) -> Answer:
        """One request alone, until what it left is on disk."""
        [[answer, *_]] = self.play(request(prompt, max_tokens, **fields))
        self.flush()
        return answer

    def flush(self) -> None:
        if self.plugin.service is not None:
            assert self.service.cache.writer.flush(60)

    def forget(self) -> None:
        """Memory forgets everything, the disk nothing."""
        self.engine.memory.forget_residents()

    def close(self) -> None:
        self.plugin.shutdown()


@contextmanager
def server(folder: Path, **arguments: Any) -> Iterator[Server]:
    made = Server(folder, **arguments)
    try:
        yield made
    finally:
        made.close()


def plain(asked: Request, **backend: Any) -> list[tuple[object, ...]]:
    """What a request says alone, computed from nothing."""
    alone = Request(
        **{
            **{name: getattr(asked, name) for name in Request.__dataclass_fields__},
            "reuse": False,
            "speculate": False,
        }
    )
    engine = Engine(FakeBackend(**{"cells": 1024, **backend}), EngineOptions(context_length=512, parallel=1))
    answers = [Answer() for _ in range(asked.n)]

    def sink(events: list[Event]) -> None:
        for event in events:
            if isinstance(event, TextDelta):
                answers[event.choice].text += event.text
                answers[event.choice].tokens += event.tokens
            elif isinstance(event, Finished):
                answers[event.choice].finished = event

    engine.submit(alone, sink)
    while engine.step():
        pass
    return [answer.said for answer in answers]


def block_files(folder: Path) -> list[Path]:
    return sorted((folder / "blocks").glob("*/*.kv"))
