"""What both generating routes do once a request is prepared."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from reame_core.server.generation.event_stream import EventStream
from reame_core.server.generation.exchange import open_exchange
from reame_core.server.generation.outcome import all_outcomes
from reame_core.server.generation.recalling import questions_of
from reame_core.server.generation.reply import StreamWriter
from reame_core.server.generation.usage import usage_of
from reame_core.server.responding import respond, trace_of_request

if TYPE_CHECKING:
    import msgspec
    from litestar import Request
    from litestar.types import ASGIApp

    from reame_core.server.gateway.trace import Trace
    from reame_core.server.generation.outcome import Outcomes
    from reame_core.server.generation.preparation import Prepared
    from reame_core.server.generation.reply import ChunkMaker
    from reame_core.server.state import ServedModel, ServerState

T = TypeVar("T")
LARGE = 32_768
"""Bytes of body from which on templates and tokenizing would hold up the event loop."""


async def prepared_off_loop(work: Callable[[], T], *, body_bytes: int, plugins: bool) -> T:
    """``work()``, on a thread where it may take long."""
    return await asyncio.to_thread(work) if plugins or body_bytes > LARGE else work()


async def answer(
    server: ServerState,
    model: ServedModel,
    prepared: Prepared,
    request: Request[Any, Any, Any],
    *,
    prompt_field: str,
    chunks: ChunkMaker,
    whole: Callable[[Prepared, Outcomes], msgspec.Struct],
) -> ASGIApp:
    """The response: an ASGI application that streams, or a whole one."""
    note = partial(_note, server, prepared, trace_of_request(request))
    questions = questions_of(model, prepared)
    if prepared.stream:
        writer = StreamWriter(prepared, chunks)
        stream = EventStream(
            server,
            model,
            prepared.requests,
            writer,
            prompt_field=prompt_field,
            finished=note,
            questions=questions,
        )
        return cast("ASGIApp", stream)
    async with open_exchange(
        server,
        model,
        prepared.requests,
        cast("Any", request.receive),
        prompt_field=prompt_field,
        questions=questions,
    ) as exchange:
        outcomes = await all_outcomes(exchange, prepared)
    note(outcomes)
    headers = exchange.headers() | prepared.services.headers()
    response = respond(whole(prepared, outcomes), 200, **headers)
    return response.to_asgi_response(app=None, request=request)


def _note(server: ServerState, prepared: Prepared, trace: Trace, outcomes: Outcomes) -> None:
    """For the line in the log, and for what plugins have to their credit."""
    if not outcomes.done:
        return
    choices = [choice for of_one_prompt in outcomes.finished for choice in of_one_prompt]
    server.plugin_help.answered(trace.id, choices, prepared.services.by_plugin)
    usage = usage_of(outcomes.finished)
    first = outcomes.finished[0][0].timings
    trace.fields |= {
        "prompt": usage.prompt_tokens,
        "cached": usage.prompt_tokens_details.cached_tokens,
        "completion": usage.completion_tokens,
        "first_ms": round(first.queued + first.prefill, 1),
    }
