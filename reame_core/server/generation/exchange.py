"""The engine requests of one HTTP request, and everything that can end them before their time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from reame_core.engine.events import Event, Failed, Finished, TextDelta
from reame_core.engine.worker import EngineClosed, QueueFull
from reame_core.errors import ContextLengthExceeded
from reame_core.plugins.services import own_headers
from reame_core.server.errors import ApiError, client_gone, unavailable
from reame_core.server.generation.mailbox import Mailbox
from reame_core.server.generation.recalling import Recall

if TYPE_CHECKING:
    from reame_core.engine.request import Request
    from reame_core.engine.worker import Ticket
    from reame_core.plugins.api import Question
    from reame_core.server.gateway.asgi import Receive
    from reame_core.server.state import ServedModel, ServerState


class Exchange:
    """Submitted when it is made; use ``open_exchange``. Choices are numbered through: those of the second
    request follow those of the first. Where plugins are to be asked one of the ``questions`` first, its request
    is submitted once they do not know the answer."""

    def __init__(
        self,
        server: ServerState,
        model: ServedModel,
        requests: Sequence[Request],
        prompt_field: str,
        questions: Sequence[Question | None] = (),
    ) -> None:
        self._server = server
        self._model = model
        self._loop = asyncio.get_running_loop()
        self._mailbox = Mailbox(server.settings.reader_timeout_s, self._reader_stalled)
        self._offsets = [sum(request.n for request in requests[:index]) for index in range(len(requests))]
        self._open = sum(request.n for request in requests)
        self._failure: Exception | None = None
        self._delivered_at: dict[int, float] = {}
        self._finished: dict[int, list[Finished]] = {}
        self._requests = requests
        self._prompt_field = prompt_field
        self._tickets: list[Ticket] = []
        self._timer: asyncio.TimerHandle | None = None
        asked = questions or [None] * len(requests)
        self._recalls = [None if each is None else Recall(model.plugins, each) for each in asked]
        self._asking: list[asyncio.Task[None]] = []
        self._submit()

    def _submit(self) -> None:
        worker = self._model.worker
        try:
            for request in self._requests:
                worker.engine.check(request)
            for index, recall in enumerate(self._recalls):
                if recall is None:
                    self._submit_one(index)
                else:
                    self._asking.append(self._loop.create_task(self._recall_or_submit(index, recall)))
        except Exception as error:
            self._cancel()
            raise self._refusal(error) from None
        limit = self._server.settings.request_timeout_s
        if limit is not None:
            self._timer = self._loop.call_later(limit, self.end, _timeout(limit))
        self._server.exchanges.add(self)

    def _submit_one(self, index: int) -> None:
        self._tickets.append(self._model.worker.submit(self._requests[index], partial(self._post, index)))

    async def _recall_or_submit(self, index: int, recall: Recall) -> None:
        try:
            events = await recall.ask()
            if events is not None:
                self._receive(index, events, recalled=True)
            else:
                self._submit_one(index)
        except Exception as error:
            self._failure = self._failure or self._refusal(error)
            self._cancel()
            self._mailbox.wake()

    def _refusal(self, error: Exception) -> Exception:
        if isinstance(error, QueueFull):
            seconds = self._server.pace.retry_after(self._model.worker.engine.waiting)
            error = unavailable(str(error), "queue_full", retry_after=seconds)
        elif isinstance(error, EngineClosed):
            error = unavailable("the server is shutting down", "shutting_down", retry_after=None)
        elif isinstance(error, ContextLengthExceeded):
            error.param = self._prompt_field
        if isinstance(error, ApiError) and error.code:
            self._server.metrics.refused(error.code)
        return error

    def _post(self, index: int, events: list[Event]) -> None:
        """On the engine thread."""
        try:
            self._loop.call_soon_threadsafe(self._receive, index, events)
        except RuntimeError:  # the loop is closed: nobody listens any more
            self._cancel_tickets()

    def _receive(self, index: int, events: list[Event], *, recalled: bool = False) -> None:
        offset = self._offsets[index]
        for event in events:
            if isinstance(event, TextDelta):
                if not recalled:
                    self._observe_delta(offset + event.choice, event)
            elif isinstance(event, Finished | Failed):
                self._choice_ended(index, event)
        if (recall := self._recalls[index]) is not None and not recalled:
            recall.heard(events)
        shifted = [replace(e, choice=e.choice + offset) for e in events] if offset else events
        self._mailbox.put(shifted, merge=not recalled)

    def _observe_delta(self, choice: int, event: TextDelta) -> None:
        now = time.perf_counter()
        before = self._delivered_at.get(choice)
        self._delivered_at[choice] = now
        self._server.metrics.throughput.delivered(len(event.tokens))
        if before is not None and event.tokens:
            self._server.metrics.tokens_delivered(len(event.tokens), now - before)

    def _choice_ended(self, index: int, event: Finished | Failed) -> None:
        self._open -= 1
        if isinstance(event, Failed) or event.recalled is None:
            self._server.pace.ended()
        self._server.metrics.ended(event)
        if isinstance(event, Failed):
            return
        finished = self._finished.setdefault(index, [])
        finished.append(event)
        if len(finished) == self._requests[index].n:
            per_token = self._model.worker.engine.cost.per_row() / 1000
            self._server.metrics.prompt(max(finished, key=lambda e: e.usage.computed), per_token)

    def headers(self) -> dict[str, str]:
        """Of the response, as far as plugins that knew answers by now want some."""
        return own_headers(
            finished.recalled.headers
            for of_one_prompt in self._finished.values()
            for finished in of_one_prompt
            if finished.recalled is not None
        )

    async def take(self, timeout: float | None = None) -> list[Event]:
        """The next events, merged if there are several; none after ``timeout`` seconds. Raises the error of
        a choice that failed, or the reason for which the exchange was ended."""
        events = await self._mailbox.take(timeout)
        if self._failure is not None:
            raise self._failure
        for event in events:
            if isinstance(event, Failed):
                raise event.error
        return events

    def end(self, reason: ApiError) -> None:
        """Stop whatever still runs; the reader gets ``reason``."""
        if self._failure is None:
            self._failure = reason
            if self._open:
                self._server.metrics.cut(reason.code or "")
            self._cancel()
            self._mailbox.wake()

    def close(self) -> None:
        """Nobody reads any more."""
        self._server.exchanges.discard(self)
        self._server.exchange_closed.set()
        self._mailbox.close()
        if self._timer is not None:
            self._timer.cancel()
        if self._open:
            self._cancel()
        for recall in self._recalls:
            if recall is not None:
                recall.drop()

    def _cancel(self) -> None:
        for task in self._asking:
            if task is not asyncio.current_task():
                task.cancel()
        self._cancel_tickets()

    def _cancel_tickets(self) -> None:
        for ticket in self._tickets:
            ticket.cancel()

    def _reader_stalled(self) -> None:
        limit = self._server.settings.reader_timeout_s
        self.end(ApiError(408, f"the stream was not read for {limit:g} s", code="reader_timeout"))


def _timeout(limit: float) -> ApiError:
    return ApiError(
        504,
        f"the request took longer than {limit:g} s (server.request_timeout_s)",
        "server_error",
        code="request_timeout",
        headers={"x-should-retry": "false"},
    )


@asynccontextmanager
async def open_exchange(
    server: ServerState,
    model: ServedModel,
    requests: Sequence[Request],
    receive: Receive,
    *,
    prompt_field: str = "prompt",
    questions: Sequence[Question | None] = (),
) -> AsyncIterator[Exchange]:
    """Submit ``requests``; whatever still runs when the context ends, or when the client closes its
    connection, is cancelled. Raises what makes them impossible to serve before anything is queued;
    ``prompt_field`` is what the client calls the prompt; ``questions`` are what plugins are asked before."""
    exchange = Exchange(server, model, requests, prompt_field, questions)
    watcher = asyncio.create_task(_end_on_disconnect(exchange, receive))
    try:
        yield exchange
    finally:
        watcher.cancel()
        exchange.close()


async def _end_on_disconnect(exchange: Exchange, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    exchange.end(client_gone())
