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
        "Four users have invoices read, by a schema; the server is ended and started; then they have other "
        "invoices read; it is ended and started again, and they have these read once more. Measured is what "
        "comes after a restart: new invoices, and known ones."
    )
    metrics = (
        Metric("answers", "new invoices: answers a minute", "1/min", "more"),
        Metric("rate", "new invoices: generated, all together", "tokens/s", "more"),
        Metric("slowest", "new invoices: slowest answer", "s"),
        Metric("cpu", "new invoices: an answer, processor", "CPU-s"),
        Metric("again_answers", "known invoices: answers a minute", "1/min", "more"),
        Metric("again_slowest", "known invoices: slowest answer", "s"),
        Metric("again_cpu", "known invoices: an answer, processor", "CPU-s"),
    )

    def run(self, stage: Stage) -> Outcome:
        each = max(1, stage.size.requests // 10)
        requests = invoices.conversations(2 * _USERS * each, seed=61)
        fields = stage.contestant.schema_fields(invoices.SCHEMA)
        longest = min(invoices.ANSWER_TOKENS, stage.size.longest)
        earlier, measured = requests[: _USERS * each], requests[_USERS * each :]
        _serve(stage, earlier, longest, fields)
        replies, figures = _measured(stage, measured, longest, fields)
        again, known = _measured(stage, measured, longest, fields)
        figures |= {f"again_{name}": value for name, value in known.items() if name != "rate"}
        good = sum(_fits(reply.text) for reply in replies)
        first = {reply.text for reply in replies}
        same = sum(reply.text in first for reply in again)
        return Outcome(
            figures,
            notes=[
                f"{good} of {len(replies)} answers are objects with the wanted fields",
                f"{same} of {len(again)} answers about known invoices were given before",
            ],
        )


def _measured(
    stage: Stage, requests: list[Messages], longest: int, fields: dict[str, object]
) -> tuple[list[Reply], dict[str, float]]:
    """The answers to ``requests`` by a server that has just been started, and what they took."""
    stage.restart()
    before, started = stage.server.cpu_seconds(), time.perf_counter()
    replies = _serve(stage, requests, longest, fields)
    took = time.perf_counter() - started
    return replies, {
        "answers": 60 * len(replies) / took,
        "rate": sum(reply.tokens for reply in replies) / took,
        "slowest": max(reply.seconds for reply in replies),
        "cpu": (stage.server.cpu_seconds() - before) / len(replies),
    }


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
