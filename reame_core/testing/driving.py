"""Driving an engine in a test: requests in, answers out, no thread and no waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.calibration import measure_batches
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.events import Event, Failed, Finished, TextDelta, Usage, Won
from reame_core.engine.group import RequestGroup
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request
from reame_core.plugins.api import ModelOpener, PluginContext, SecondModel
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager
from reame_core.testing import fake_vocabulary as vocabulary
from reame_core.testing.fake_backend import FakeBackend, FakeClock

MOST_STEPS = 20_000
"""Whoever takes more waits for ever."""


def prompt_of(text: str) -> tuple[int, ...]:
    """``text`` as a prompt for ``FakeBackend``, with the beginning token."""
    return (vocabulary.BOS, *vocabulary.tokenize(text))


@dataclass
class Answer:
    """One choice of a request, gathered from its events."""

    text: str = ""
    tokens: list[int] = field(default_factory=list)
    finished: Finished | None = None
    error: Exception | None = None

    @property
    def usage(self) -> Usage:
        """Raises the error of a choice that failed."""
        if self.finished is None:
            raise self.error or AssertionError("the answer has not ended")
        return self.finished.usage

    @property
    def said(self) -> tuple[object, ...]:
        """Everything that must not depend on how the answer was computed."""
        if self.finished is None:
            return "failed", type(self.error)
        return self.text, tuple(self.tokens), self.finished.reason, self.usage.completion


class Answers(list[Answer]):
    """The choices of one request; a sink for ``Engine.submit``."""

    def __init__(self, request: Request) -> None:
        super().__init__(Answer() for _ in range(request.n))
        self.request = request
        self.winner: int | None = None
        self.group: RequestGroup | None = None

    def __call__(self, events: list[Event]) -> None:
        for event in events:
            answer = self[event.choice]
            match event:
                case TextDelta():
                    answer.text += event.text
                    answer.tokens += event.tokens
                case Finished():
                    answer.finished = event
                case Failed():
                    answer.error = event.error
                case Won():
                    self.winner = event.choice

    @property
    def said(self) -> list[tuple[object, ...]]:
        """Of each choice."""
        return [answer.said for answer in self]


def submit(engine: Engine, request: Request) -> Answers:
    """Queue ``request``; its answers fill while the engine steps."""
    answers = Answers(request)
    answers.group = engine.submit(request, answers)
    return answers


def run(engine: Engine, *requests: Request) -> list[Answers]:
    """Submit ``requests`` at once and step until nothing is under way."""
    answers = [submit(engine, request) for request in requests]
    for _ in range(MOST_STEPS):
        if not engine.step():
            break
    if not engine.idle:
        raise AssertionError("something waits for ever")
    return answers


def plain_answers(request: Request, **backend: Any) -> list[tuple[object, ...]]:
    """What ``request`` says on a fresh engine without plugins, alone, computed from nothing: what every other
    way has to say as well. ``backend`` are arguments of ``FakeBackend``."""
    alone = replace(request, reuse=False, speculate=False, select=False, wave=None, extra={})
    model = FakeBackend(**backend)
    engine = Engine(model, EngineOptions(context_length=context_of(model), parallel=1))
    return run(engine, alone)[0].said


def context_of(backend: FakeBackend) -> int:
    """A context that leaves room for several sequences."""
    return min(256, backend.info.kv_cells)


@dataclass(frozen=True)
class Plugged:
    """A running engine with plugins."""

    engine: Engine
    manager: PluginManager

    @property
    def failures(self) -> dict[str, int]:
        """How often each hook raised; hooks that never did are left out."""
        return {hook: count for (_, hook), count in self.manager.error_counts().items() if count}


@contextmanager
def plugged(
    plugin: object | None,
    backend: FakeBackend | None = None,
    *,
    options: dict[str, object] | None = None,
    name: str = "checked",
    clock: Callable[[], float] | None = None,
    watch: Callable[[EngineHooks], EngineHooks] = lambda hooks: hooks,
    second_model: Callable[[], FakeBackend] | None = None,
    **engine: Any,
) -> Iterator[Plugged]:
    """An engine with ``plugin`` (None for none) and its ``options``, started and shut down as Reame does it.
    ``engine`` are fields of ``EngineOptions``; drafts get their rows whether they pay or not, unless they say
    otherwise. ``clock``, in seconds, is the backend's own where none is given, so that nothing hangs on how
    fast a machine is. ``watch`` may put something between the engine and the plugin's hooks. ``second_model``
    makes what ``context.open_model`` opens, whatever its name; without it there is none."""
    backend = backend or FakeBackend()
    if clock is None:
        clock = backend.clock = backend.clock or FakeClock()
    own = [] if plugin is None else [(name, plugin)]
    manager = PluginManager(builtins=[*own, *BUILT_IN_PLUGINS], entry_points=[])
    engine.setdefault("context_length", context_of(backend))
    engine.setdefault("price_drafts", False)
    context = PluginContext(
        backend.info,
        options or {},
        namespace={"model": f"fake {backend.weights}"},
        tokenizer="fake",
        piece=backend.piece,
        tokenize=backend.tokenize,
    )
    if second_model is not None:
        context = replace(context, open_model=_opener(second_model, clock))
    manager.startup(lambda _: context)
    try:
        yield Plugged(Engine(backend, EngineOptions(**engine), watch(manager.engine_hooks()), clock), manager)
    finally:
        manager.shutdown()


def _opener(make: Callable[[], FakeBackend], clock: Callable[[], float]) -> ModelOpener:
    def open_model(model: str, **wishes: Any) -> SecondModel:
        backend, cost = make(), BatchCost()
        if backend.clock is None and isinstance(clock, FakeClock):
            backend.clock = clock
        measure_batches(backend, cost, clock)
        return SecondModel(backend, "fake", cost)

    return open_model
