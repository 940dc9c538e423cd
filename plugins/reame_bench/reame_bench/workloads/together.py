"""Everything at once: several users, a server that was restarted, drafts, answers by a schema."""

from __future__ import annotations

import json
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from reame_bench.texts import invoices
from reame_bench.workloads.workload import Metric, Outcome, Stage, Workload

if TYPE_CHECKING:
    from reame_bench.client import Messages, Reply

_USERS = 4


class Together(Workload):
    name = "together"
    title = "All at once: four users, a restarted server, drafts, a schema"
    question = (
        "Four users have invoices read, by a schema; the server is ended and started; then four users have "
        "other "
        "invoices read. Measured is what comes after the restart."
    )
    metrics = (
        Metric("answers", "answers a minute", "1/min", "more"),
        Metric("rate", "generated, all together", "tokens/s", "more"),
        Metric("slowest", "slowest answer", "s"),
        Metric("cpu", "an answer, processor", "CPU-s"),
    )

    def run(self, stage: Stage) -> Outcome:
        each = max(1, stage.size.requests // 10)
        requests = invoices.conversations(2 * _USERS * each, seed=61)
        fields = stage.contestant.schema_fields(invoices.SCHEMA)
        longest = min(invoices.ANSWER_TOKENS, stage.size.longest)
        _serve(stage, requests[: _USERS * each], longest, fields)
        stage.restart()
        before, started = stage.server.cpu_seconds(), time.perf_counter()
        replies = _serve(stage, requests[_USERS * each :], longest, fields)
        took = time.perf_counter() - started
        figures = {
            "answers": 60 * len(replies) / took,
            "rate": sum(reply.tokens for reply in replies) / took,
            "slowest": max(reply.seconds for reply in replies),
            "cpu": (stage.server.cpu_seconds() - before) / len(replies),
        }
        good = sum(_fits(reply.text) for reply in replies)
        return Outcome(figures, notes=[f"{good} of {len(replies)} answers are objects with the wanted fields"])


def _serve(stage: Stage, requests: list[Messages], longest: int, fields: dict[str, object]) -> list[Reply]:
    """All ``requests`` by users who each send the next one when the last is answered."""
    waiting: SimpleQueue[Messages] = SimpleQueue()
    for request in requests:
        waiting.put(request)
    replies: list[Reply] = []
    failures: list[BaseException] = []

    def user() -> None:
        try:
            while not failures:
                replies.append(stage.client.chat(waiting.get_nowait(), longest, **fields))
        except Empty:
            return
        except BaseException as error:
            failures.append(error)

    users = [threading.Thread(target=user) for _ in range(_USERS)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join()
    if failures:
        raise failures[0]
    return replies


def _fits(text: str) -> bool:
    try:
        found = json.loads(text)
    except ValueError:
        return False
    wanted = invoices.SCHEMA["required"]
    return isinstance(found, dict) and list(found) == wanted
