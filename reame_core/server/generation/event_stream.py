"""A response that is a stream of server-sent events.

When does the status line go out? Everything that is wrong with a request is found when it is submitted, so
that bad input is a real 4xx or 503. Then the first event of the engine is awaited for a moment, so that a
failure at once is a real 500; whoever waits longer than that (a long prompt, a queue) gets the headers and
comment lines, by the clock, until there is something to say. Errors after that are events of the stream.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import structlog

from reame_core.errors import ReameError
from reame_core.server.errors import CLIENT_CLOSED_REQUEST, ApiError, api_error
from reame_core.server.gateway.trace import trace_of
from reame_core.server.generation.exchange import open_exchange

if TYPE_CHECKING:
    from reame_core.engine.request import Request
    from reame_core.plugins.api import Question
    from reame_core.server.gateway.asgi import Receive, Scope, Send
    from reame_core.server.generation.exchange import Exchange
    from reame_core.server.generation.outcome import Outcomes
    from reame_core.server.generation.reply import StreamWriter
    from reame_core.server.state import ServedModel, ServerState

log = structlog.get_logger("reame.http")

KEEP_ALIVE = b": keep-alive\n\n"
"""Not ``: ping``, which some clients take for the end of what they have to parse."""
FIRST_EVENT_S = 1.0
"""How long the first event is awaited before the headers go out."""
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    # Proxies such as nginx would otherwise collect the stream before they pass it on.
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """An ASGI application for one response. ``finished`` is told what came of it."""

    def __init__(
        self,
        server: ServerState,
        model: ServedModel,
        requests: Sequence[Request],
        writer: StreamWriter,
        *,
        prompt_field: str,
        finished: Callable[[Outcomes], None],
        questions: Sequence[Question | None] = (),
    ) -> None:
        self._server = server
        self._model = model
        self._requests = requests
        self._writer = writer
        self._prompt_field = prompt_field
        self._finished = finished
        self._questions = questions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with open_exchange(
            self._server,
            self._model,
            self._requests,
            receive,
            prompt_field=self._prompt_field,
            questions=self._questions,
        ) as exchange:
            silence = self._server.settings.keep_alive_s
            events = await exchange.take(min(FIRST_EVENT_S, silence))
            payload = self._writer.write(events)
            told = [(name.encode(), value.encode()) for name, value in exchange.headers().items()]
            await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *told]})
            try:
                await self._send_all(exchange, payload, send)
            except Exception as error:
                await _send_error(error, scope, send)
        self._finished(self._writer.outcomes)

    async def _send_all(self, exchange: Exchange, payload: bytes, send: Send) -> None:
        silence = self._server.settings.keep_alive_s
        last_sent = time.monotonic()
        while not self._writer.done:
            if payload:
                await _send_part(payload, send)
                last_sent = time.monotonic()
            events = await exchange.take(max(0.0, last_sent + silence - time.monotonic()))
            payload = self._writer.write(events)
            if not payload and time.monotonic() >= last_sent + silence:
                payload = KEEP_ALIVE
        await _send_part(payload, send, more=False)


async def _send_part(payload: bytes, send: Send, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": payload, "more_body": more})


async def _send_error(error: Exception, scope: Scope, send: Send) -> None:
    trace = trace_of(scope)
    shown = api_error(error, trace.id)
    trace.fields["error"] = shown.message
    if not isinstance(error, ApiError | ReameError):
        log.error("a stream failed", exc_info=error)
    if shown.status != CLIENT_CLOSED_REQUEST:
        await _send_part(b"data: " + shown.body + b"\n\n", send, more=False)
