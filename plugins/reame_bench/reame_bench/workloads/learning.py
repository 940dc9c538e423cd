"""Many requests of one kind, one after another: how the time a request takes falls; then all of them again."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from reame_bench.workloads.workload import Asked, Metric, Outcome, Stage, Workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from reame_bench.client import Messages

_LAST = 10
"""So many requests at the end of a pass are its steady state."""

METRICS = (
    Metric("first", "request 1", "s"),
    Metric("last", "last ten, mean", "s"),
    Metric("share", "last ten / request 1", "×"),
    Metric("again", "last ten of the second pass, mean", "s"),
    Metric("again_share", "second pass, mean / request 1", "×"),
    Metric("ttft", "last ten: first token", "s"),
    Metric("rate", "last ten: answer tokens by whole time", "tokens/s", "more"),
    Metric("cpu_first", "request 1, processor", "CPU-s"),
    Metric("cpu_last", "last ten, processor", "CPU-s"),
    Metric("cpu_all", "first pass, processor", "CPU-s"),
    Metric("seconds_all", "first pass", "s"),
)


class LearningCurve(Workload):
    """The requests of ``conversations(count)``."""

    metrics = METRICS

    def __init__(
        self,
        name: str,
        title: str,
        conversations: Callable[[int], list[Messages]],
        max_tokens: int,
        schema: dict[str, object] | None = None,
    ) -> None:
        self.name = name
        self.title = title
        self.question = (
            f"{title}: requests that share their instructions, one after another on a server that has just "
            "been started, then the same ones again."
        )
        self._conversations = conversations
        self._max_tokens = max_tokens
        self._schema = schema

    def run(self, stage: Stage) -> Outcome:
        requests = self._conversations(stage.size.requests)
        fields = stage.contestant.schema_fields(self._schema) if self._schema else {}
        first = self._pass(stage, requests, "first pass", fields)
        second = self._pass(stage, requests[: len(first)], "second pass", fields)
        outcome = summary(first, second)
        if len(second) < len(requests):
            outcome.notes.append(
                f"the limit of time came after {len(first)} requests and {len(second)} of the second pass"
            )
        return outcome

    def _pass(
        self, stage: Stage, requests: list[Messages], label: str, fields: dict[str, object]
    ) -> list[Asked]:
        """At least one request, the others until the stage's deadline."""
        answers: list[Asked] = []
        for number, messages in enumerate(requests, 1):
            if answers and time.monotonic() > stage.deadline:
                break
            answers.append(stage.ask(messages, min(self._max_tokens, stage.size.longest), **fields))
            if number % 20 == 0:
                stage.progress(
                    f"{label}, request {number} of {len(requests)}: {answers[-1].reply.seconds:.2f} s"
                )
        return answers


def summary(first: list[Asked], second: list[Asked]) -> Outcome:
    """Of both passes. Whether the second one said the same is a note, not a figure."""
    last, again = first[-_LAST:], second[-_LAST:]
    begin = first[0]
    seconds = statistics.fmean(each.reply.seconds for each in last)
    figures = {
        "first": begin.reply.seconds,
        "last": seconds,
        "share": seconds / begin.reply.seconds,
        "again": statistics.fmean(each.reply.seconds for each in again),
        "again_share": statistics.fmean(each.reply.seconds for each in second) / begin.reply.seconds,
        "ttft": statistics.fmean(each.reply.first for each in last),
        "rate": sum(each.reply.tokens for each in last) / sum(each.reply.seconds for each in last),
        "cpu_first": begin.cpu,
        "cpu_last": statistics.fmean(each.cpu for each in last),
        "cpu_all": sum(each.cpu for each in first),
        "seconds_all": sum(each.reply.seconds for each in first),
    }
    curves: dict[str, list[float]] = {}
    for label, answers in (("", first), ("again ", second)):
        curves[f"{label}seconds"] = [each.reply.seconds for each in answers]
        curves[f"{label}first token"] = [each.reply.first for each in answers]
        curves[f"{label}tokens/s"] = [each.reply.tokens / each.reply.seconds for each in answers]
        curves[f"{label}CPU-s"] = [each.cpu for each in answers]
    same = sum(a.reply.text == b.reply.text for a, b in zip(first, second, strict=False))
    tokens = statistics.fmean(each.reply.tokens for each in first)
    notes = [
        f"{same} of {len(second)} answers were the same in the second pass",
        f"prompts of {begin.reply.prompt_tokens or '?'} tokens and so on, answers of {tokens:.0f} on average",
    ]
    return Outcome(figures, curves, notes)
