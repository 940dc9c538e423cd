"""An engine with real plugins on folders of its own, that can be stopped and started again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reame_core.engine.backend import Backend
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.request import Request
from reame_core.engine.verification import CoreVerifier
from reame_core.plugins.api import PluginContext, Question
from reame_core.plugins.manager import PluginManager
from reame_core.server.generation.recalling import Recall
from tests.engine.support import STEPS, Answer, Answers

if TYPE_CHECKING:
    from tests.matrix.features import Feature
    from tests.matrix.ground import Ground


@dataclass
class Setup:
    """What features change before anything is built."""

    users: int = 1
    parallel: int = 4
    residents: int = 0
    cells: int = 1024
    exact: bool = False
    kv_type: str = "f16"
    lists: bool = False
    """The fake backend answers with a list where it is asked for one."""
    fields: dict[str, dict[str, object]] = field(default_factory=dict)
    """What clients ask of plugins, by plugin: it decides an answer that a plugin may know already."""
    plugins: dict[str, Callable[[World], tuple[object, dict[str, object]]]] = field(default_factory=dict)
    """By name: makes the plugin's object and its options, anew at each start."""


class World:
    """``features`` at work together. Use as a context manager."""

    def __init__(self, ground: Ground, folder: Path, features: Sequence[Feature]) -> None:
        self.ground = ground
        self.folder = folder
        self.features = features
        self.setup = Setup()
        for feature in features:
            feature.prepare(self.setup)
        self.started: dict[str, Any] = {}
        self._asked: list[tuple[Recall, Answers]] = []
        """What plugins were asked in vain and are told when it is computed."""

    def __enter__(self) -> World:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._manager.shutdown()

    def _start(self) -> None:
        self.backend: Backend = self.ground.backend(self.setup)
        made = {name: make(self) for name, make in self.setup.plugins.items()}
        self.started = {name: plugin for name, (plugin, _) in made.items()}
        self._manager = PluginManager(
            builtins=(*self.started.items(), ("core", CoreVerifier())), entry_points=[]
        )

        def context(name: str) -> PluginContext:
            options = made[name][1] if name in made else {}
            namespace = {"model": "matrix", "kv_cache_type": self.setup.kv_type}
            return self.ground.context(self.backend, options, namespace)

        self._manager.startup(context)
        for feature in self.features:
            feature.started(self)
        self.engine = Engine(
            self.backend,
            EngineOptions(
                context_length=min(256, self.setup.cells),
                parallel=self.setup.parallel,
                residents=self.setup.residents,
                max_rows=self.ground.max_rows,
                max_draft=8,
                price_drafts=False,
                exact=self.ground.exact if self.setup.exact else None,
            ),
            self._manager.engine_hooks(),
        )

    def restart(self) -> None:
        """As when the process ends and another one begins."""
        self._manager.shutdown()
        self._check_plugins()
        self._start()

    def forget(self) -> None:
        """Nothing stays in memory but what plugins keep."""
        self.engine.memory.forget_residents()

    def flush(self) -> None:
        """What was computed has reached the plugins' stores."""
        for feature in self.features:
            feature.flush(self)

    def requests(self) -> list[Request]:
        """One for each user, with everything that the features ask for."""
        asked = [self.ground.request(number) for number in range(self.setup.users)]
        for feature in sorted(self.features, key=lambda each: each.last):
            asked = [feature.ask(request, self) for request in asked]
        return asked

    def run(self) -> list[tuple[Request, Answers]]:
        """Teach, interrupt, remind; then the requests at the same time, and what they were answered."""
        for feature in self.features:
            feature.teach(self)
        self.flush()
        for feature in self.features:
            feature.interrupt(self)
        for feature in self.features:
            feature.remind(self)
        asked = self.requests()
        answers = [self.submit(request) for request in asked]
        for feature in self.features:
            feature.disturb(self)
        self.finish()
        self._check_plugins()
        for feature in self.features:
            feature.check(self)
        return list(zip(asked, answers, strict=True))

    def play(self, *asked: Request) -> list[Answers]:
        answers = [self.submit(request) for request in asked]
        self.finish()
        return answers

    def submit(self, request: Request) -> Answers:
        """Its answers where a plugin knows them, as the server asks for them; else those that are computed."""
        answers = Answers(request)
        recall = self._recall(request)
        known = asyncio.run(recall.ask()) if recall is not None else None
        if known is not None:
            answers(known)
            return answers
        answers.group = self.engine.submit(request, answers)
        if recall is not None:
            self._asked.append((recall, answers))
        return answers

    def _recall(self, request: Request) -> Recall | None:
        # Where a winner is chosen the server asks nobody.
        if not self._manager.hook("recall_answer") or request.select:
            return None
        room = min(request.max_tokens or 0, self.engine.options.context_length - len(request.prompt))
        exact = self.engine.options.exact is not None
        return Recall(self._manager, Question(request, room, exact, self.setup.fields))

    def _tell(self) -> None:
        async def tell() -> None:
            for recall, answers in self._asked:
                recall.heard(answers.events)
                recall.drop()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*(each for each in others if each is not None))

        asyncio.run(tell())
        self._asked.clear()

    def finish(self) -> None:
        for _ in range(STEPS):
            if not self.engine.step():
                break
        assert self.engine.idle, "something waits for ever"
        self.ground.check(self.engine)
        if self._asked:
            self._tell()

    def _check_plugins(self) -> None:
        errors = {key: count for key, count in self._manager.error_counts().items() if count}
        assert not errors, f"plugins have failed: {errors}"

    def plain(self, request: Request) -> Answers:
        """What ``request`` is answered alone, on a fresh engine without plugins, computed from nothing."""
        alone = replace(request, reuse=False, speculate=False, select=False, extra={})
        setup = replace(self.setup, cells=1024, plugins={})
        # A constraint has no text of its own; all of the matrix are by one schema.
        asked = replace(alone, constraint=None)
        key = repr((setup.kv_type, setup.exact, setup.lists, asked, alone.constraint is None))
        if key not in self.ground.answers:
            self.ground.answers[key] = self._alone(alone, setup)
        return self.ground.answers[key]

    def _alone(self, request: Request, setup: Setup) -> Answers:
        engine = Engine(
            self.ground.backend(setup, apart=True),
            EngineOptions(
                context_length=256,
                parallel=1,
                max_rows=self.ground.max_rows,
                exact=self.ground.exact if setup.exact else None,
            ),
        )
        answers = Answers(request)
        engine.submit(request, answers)
        while engine.step():
            pass
        assert answers.done
        return answers


def said(answer: Answer) -> tuple[object, ...]:
    """All of an answer that must not depend on how it was computed, log-probabilities included."""
    return (*answer.said, tuple((p.token, p.logprob, p.top) for p in answer.logprobs))


def names(features: Iterable[Feature]) -> str:
    return " + ".join(feature.name for feature in features)
