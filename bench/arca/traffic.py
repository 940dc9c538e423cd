"""Tickets to be sorted, on a server that knows nothing and then on another one with an empty disk: seconds to
their whole answers, and bytes of blocks and generations to and from the store."""

from __future__ import annotations

import time

import redis
from reame_bench.texts import triage

from bench.arca.server import Server, server
from bench.arca.store import running_store
from bench.case import Case
from bench.report import Figure, Result
from reame_core.engine.request import Request
from reame_core.models.chat_template import ChatTemplate
from reame_core.models.prompt import chat_tokens

TICKETS = 5
ANSWER = 25
"""Tokens, about as many as these answers have."""


def measure(case: Case, result: Result) -> None:
    template = ChatTemplate.for_model(case.backend.info)
    prompts = [chat_tokens(case.backend, template, messages) for messages in triage.conversations(2 * TICKETS)]
    with running_store() as url:
        with server(case, case.new_folder(), url) as first:
            published = [_answered(first, prompt) for prompt in prompts[:TICKETS]]
        with server(case, case.new_folder(), url) as second:
            joining = [_answered(second, prompt) for prompt in prompts[TICKETS:]]
            fetched = second.shared_bytes("fetched") / 1e6
        # Apart from the others: drafts would make a difference to their times.
        with server(case, case.new_folder(), url, archive=True) as third:
            for prompt in prompts[:TICKETS]:
                _answered(third, prompt)
        entries = entry_bytes(url)
    later = [*published[1:], *joining[1:]]
    result.figures += [
        Figure("request 1", published[0][0], "s"),
        Figure("request 1 of a server that joins", joining[0][0], "s"),
        Figure.of("later requests", [seconds for seconds, _ in later], "s"),
        Figure("request 1: published", published[0][1], "MB"),
        Figure.of("later requests: published", [megabytes for _, megabytes in later], "MB"),
        Figure("a server that joins: fetched", fetched, "MB"),
        Figure.of("a generation in the stream", entries, "bytes"),
    ]
    result.notes.append(f"prompts of {len(prompts[0])} tokens and so on, answers of {ANSWER}, no drafts")
    result.notes.append(f"weight buffers: {case.buffers.label}")


def entry_bytes(url: str) -> list[float]:
    """What each entry of the streams in the store at ``url`` takes on its way to a reader."""
    found = []
    with redis.Redis.from_url(url, protocol=2) as client:
        for stream in client.scan_iter(_type="stream"):
            for name, fields in client.xrange(stream):
                strings = [name, *(each for item in fields.items() for each in item)]
                # As the protocol frames them: an array of the name and of an array of the fields.
                found.append(8.0 + sum(len(each) + len(str(len(each))) + 5 for each in strings))
    return found


def _answered(each: Server, prompt: tuple[int, ...]) -> tuple[float, float]:
    """(seconds to the whole answer, megabytes that were published of it)."""
    before = each.shared_bytes("published")
    started = time.perf_counter()
    each.engine.submit(Request(prompt=prompt, max_tokens=ANSWER, ignore_end=True), lambda events: None)
    while each.engine.step():
        pass
    seconds = time.perf_counter() - started
    each.flush()
    return seconds, (each.shared_bytes("published") - before) / 1e6
