"""Answers that plugins know already: they are asked before a request is queued, and told what was computed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import structlog

from reame_core.engine.events import Event, Finished, Recalled, TextDelta, Timings, Usage
from reame_core.plugins.api import AnsweredChoice, AskAgain, KnownAnswer, Question

if TYPE_CHECKING:
    from reame_core.engine.hooks import GuardedHook
    from reame_core.engine.request import Request
    from reame_core.plugins.manager import PluginManager
    from reame_core.server.generation.preparation import Prepared
    from reame_core.server.state import ServedModel

log = structlog.get_logger("reame.plugins")

_SHORTEST_WAIT_S = 0.001
_LONGEST_WAIT_S = 1.0
_LONGEST_IN_ALL_S = 3600.0
_background: set[asyncio.Task[None]] = set()
"""Tasks that nobody waits for must be held by somebody."""


def questions_of(model: ServedModel, prepared: Prepared) -> list[Question | None]:
    """For each request of ``prepared`` what to ask plugins; None where there is nobody to ask, or where the
    answer must be computed: because the client wants it so, because a winner is chosen among candidates, or
    because a plugin tells how it was computed."""
    services = prepared.services
    nobody = not (model.plugins.hook("recall_answer") or model.plugins.hook("keep_answer"))
    if nobody or any(service.report is not None for service in services.by_plugin.values()):
        return [None] * len(prepared.requests)
    serving = services.by_plugin
    reports = model.plugins.report() if serving else []
    versions = {each.name: each.version or "" for each in reports if each.name in serving}
    options = model.worker.engine.options

    def question(request: Request) -> Question | None:
        if not request.reuse or request.select or request.n > prepared.n:
            return None
        left = options.context_length - len(request.prompt)
        room = left if request.max_tokens is None else min(left, request.max_tokens)
        return Question(
            request,
            room,
            options.exact is not None,
            services.fields,
            versions,
            prepared.last_message,
            services.endpoint,
        )

    return [question(request) for request in prepared.requests]


class Recall:
    """One question's way. All methods are for the event loop."""

    def __init__(self, plugins: PluginManager, question: Question) -> None:
        self._plugins = plugins
        self._question = question
        self._asked = False
        self._told = False
        self._in_flight: asyncio.Future[Any] | None = None
        self._begun = time.perf_counter()
        count = question.request.n
        self._deltas: list[list[TextDelta]] = [[] for _ in range(count)]
        self._finished: dict[int, Finished] = {}

    async def ask(self) -> list[Event] | None:
        """All events of the answer, where a plugin knows it. Waits while somebody else computes it."""
        hook = self._plugins.hook("recall_answer")
        deadline = self._begun + _LONGEST_IN_ALL_S
        while hook and time.perf_counter() < deadline:
            self._asked = True
            self._in_flight = asyncio.ensure_future(asyncio.to_thread(hook.first, self._question))
            # A thread cannot be stopped: whoever does not want to know any more lets it end.
            found = await asyncio.shield(self._in_flight)
            if found is None:
                return None
            plugin, answer = found
            if isinstance(answer, AskAgain):
                await asyncio.sleep(min(_LONGEST_WAIT_S, max(_SHORTEST_WAIT_S, answer.seconds)))
                continue
            events = self._events(plugin, answer)
            if events is not None:
                # The others may wait for it to be computed.
                self._tell(None, self._plugins.hook("keep_answer").without(plugin))
                self._told = True
            return events
        return None

    def heard(self, events: Sequence[Event]) -> None:
        """What the engine said."""
        for event in events:
            if isinstance(event, TextDelta):
                self._deltas[event.choice].append(event)
            elif isinstance(event, Finished):
                self._finished[event.choice] = event
        if len(self._finished) == len(self._deltas):
            self._tell(self._answer())

    def drop(self) -> None:
        """There will be no whole answer."""
        if self._in_flight is not None and not self._in_flight.done():
            self._in_flight.add_done_callback(lambda _: self._tell(None))
        else:
            self._tell(None)

    def _answer(self) -> list[AnsweredChoice] | None:
        if any(finished.reason == "cancelled" for finished in self._finished.values()):
            return None
        return [
            AnsweredChoice(
                tuple(deltas),
                self._finished[choice].reason,
                self._finished[choice].usage.completion,
                self._finished[choice].stopped_by,
            )
            for choice, deltas in enumerate(self._deltas)
        ]

    def _tell(self, answer: list[AnsweredChoice] | None, keepers: GuardedHook | None = None) -> None:
        hook = self._plugins.hook("keep_answer") if keepers is None else keepers
        if self._told or not hook or not (self._asked or answer):
            return
        self._told = True
        _in_background(asyncio.to_thread(hook.all, self._question, answer))

    def _events(self, plugin: str, answer: object) -> list[Event] | None:
        """None for an answer that cannot be one of this question."""
        request = self._question.request
        if not isinstance(answer, KnownAnswer) or len(answer.choices) != request.n:
            log.warning("recall_answer answered no KnownAnswer that fits", plugin=plugin)
            return None
        usage = {plugin: len(request.prompt)}
        timings = Timings(1000 * (time.perf_counter() - self._begun), 0.0, 0.0)
        recalled = Recalled(plugin, answer.note, answer.headers)
        events: list[Event] = []
        for number, choice in enumerate(answer.choices):
            # Mostly they say themselves which choice they belong to: an answer may have thousands.
            events += [
                each if each.choice == number else TextDelta(number, each.text, each.tokens, each.logprobs)
                for each in choice.deltas
            ]
            counted = Usage(len(request.prompt), choice.completion, 0, usage)
            events.append(Finished(number, choice.reason, counted, timings, choice.stopped_by, recalled))
        return events


def _in_background(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(work)
    _background.add(task)
    task.add_done_callback(_background.discard)
