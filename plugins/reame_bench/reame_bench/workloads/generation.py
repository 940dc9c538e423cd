"""How fast answers come: repeated and nearly repeated ones, fresh ones with structure, rewritten texts."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from reame_bench.texts import tasks
from reame_bench.workloads.workload import Metric, Outcome, Stage, Workload

if TYPE_CHECKING:
    from reame_bench.client import Messages


class Repeats(Workload):
    name = "repeats"
    title = "Repeated and nearly repeated generations"
    question = (
        "Tokens a second of letters: written for the first time, the same request again, and requests that "
        "differ in "
        "name, number and days."
    )
    metrics = (
        Metric("first", "first time", "tokens/s", "more"),
        Metric("repeat", "the same request again", "tokens/s", "more"),
        Metric("near", "nearly the same request", "tokens/s", "more"),
        Metric("gain", "again / first time", "×", "more"),
        Metric("near_gain", "nearly the same / first time", "×", "more"),
    )

    def run(self, stage: Stage) -> Outcome:
        first, *others = tasks.letters(4, seed=21)
        said = stage.ask(first, stage.size.answer).reply
        again = stage.ask(first, stage.size.answer).reply
        near = _rate(stage, others)
        figures = {"first": said.rate, "repeat": again.rate, "near": near}
        figures |= {"gain": again.rate / said.rate, "near_gain": near / said.rate} if said.rate else {}
        same = "the same text" if again.text == said.text else "another text"
        return Outcome(figures, notes=[f"the repeated request gave {same}"])


class Fresh(Workload):
    name = "fresh"
    title = "Fresh lists, tables and JSON"
    question = "Tokens a second of answers that nobody has given before, with structure and without."
    metrics = (
        Metric("list", "numbered lists", "tokens/s", "more"),
        Metric("table", "tables", "tokens/s", "more"),
        Metric("json", "JSON", "tokens/s", "more"),
        Metric("story", "stories", "tokens/s", "more"),
    )

    def run(self, stage: Stage) -> Outcome:
        count = 1 if stage.size.rounds == 1 else 2
        kinds = {"list": tasks.lists, "table": tasks.tables, "json": tasks.records, "story": tasks.stories}
        return Outcome({kind: _rate(stage, make(count, 22)) for kind, make in kinds.items()})


class Rewrite(Workload):
    name = "rewrite"
    title = "Rewriting a text"
    question = "Tokens a second of a paragraph that is repeated with one word replaced."
    metrics = (Metric("rate", "rewriting", "tokens/s", "more"),)

    def run(self, stage: Stage) -> Outcome:
        return Outcome({"rate": _rate(stage, tasks.rewrites(1 if stage.size.rounds == 1 else 2, seed=23))})


class DraftModel(Workload):
    name = "draft-model"
    title = "A draft model"
    question = (
        "Tokens a second of stories and lists, with a small model that drafts for the large one and without. "
        "Whoever "
        "cannot switch it off pays for it where it does not pay."
    )
    metrics = (
        Metric("story", "stories", "tokens/s", "more"),
        Metric("list", "numbered lists", "tokens/s", "more"),
    )

    def run(self, stage: Stage) -> Outcome:
        return Outcome(
            {"story": _rate(stage, tasks.stories(2, seed=24)), "list": _rate(stage, tasks.lists(2, seed=24))}
        )


def _rate(stage: Stage, requests: list[Messages]) -> float:
    """The mean over ``requests``, one after another, of those whose answer has several tokens."""
    rates = [stage.ask(messages, stage.size.answer).reply.rate for messages in requests]
    return statistics.fmean([rate for rate in rates if rate] or [0.0])
