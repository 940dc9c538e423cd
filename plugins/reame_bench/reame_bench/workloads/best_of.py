"""Several answers to one question, of which the one that most agree on is taken."""

from __future__ import annotations

import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from reame_bench.texts import tasks
from reame_bench.workloads.workload import Metric, Outcome, Stage, Workload

if TYPE_CHECKING:
    from reame_bench.client import Messages

_COUNT = 5
_TEMPERATURE = 0.7
_NUMBERS = re.compile(r"\d+")


class BestOf(Workload):
    name = "best-of"
    title = "Best of five"
    question = (
        "Seconds to an answer that most of five samples agree on. Where the server cannot choose, the client "
        "asks for "
        "five at the same time and counts the votes."
    )
    metrics = (
        Metric("seconds", "a question", "s"),
        Metric("one", "a single sample", "s"),
        Metric("five", "five single samples one after another", "s"),
        Metric("factor", "best of five / a single sample", "×"),
        Metric("correct", "right answers", "of all", "more"),
        Metric("cpu", "a question, processor", "CPU-s"),
    )

    def run(self, stage: Stage) -> Outcome:
        questions = tasks.sums(stage.size.turns, seed=41)
        fields = stage.contestant.best_of(_COUNT)
        alone = [stage.ask(each, stage.size.answer, temperature=_TEMPERATURE, seed=1) for each in questions[:2]]
        one = sum(each.reply.seconds for each in alone) / len(alone)
        before, started = stage.server.cpu_seconds(), time.perf_counter()
        right = sum(
            _wanted(question) == _number(_chosen(stage, question, fields, number))
            for number, question in enumerate(questions)
        )
        took = (time.perf_counter() - started) / len(questions)
        cpu = (stage.server.cpu_seconds() - before) / len(questions)
        figures = {
            "seconds": took,
            "one": one,
            "five": _COUNT * one,
            "factor": took / one,
            "correct": right / len(questions),
            "cpu": cpu,
        }
        who = "the server" if fields is not None else "the client"
        return Outcome(figures, notes=[f"{who} chose", f"{len(questions)} questions"])


def _chosen(stage: Stage, question: Messages, fields: dict[str, object] | None, seed: int) -> str:
    """The answer that wins."""
    if fields is not None:
        answer = stage.client.choices(
            question, stage.size.answer, temperature=_TEMPERATURE, seed=seed * 100, **fields
        )
        text: str = answer["choices"][0]["message"]["content"]
        return text
    texts = _at_once(stage, question, [seed * 100 + number for number in range(_COUNT)])
    winner = Counter(_number(text) for text in texts).most_common(1)[0][0]
    return next(text for text in texts if _number(text) == winner)


def _at_once(stage: Stage, question: Messages, seeds: list[int]) -> list[str]:
    def sample(seed: int) -> str:
        return stage.client.chat(question, stage.size.answer, temperature=_TEMPERATURE, seed=seed).text

    with ThreadPoolExecutor(len(seeds)) as pool:
        return list(pool.map(sample, seeds))


def _number(text: str) -> int | None:
    """The last whole number of ``text``."""
    found = _NUMBERS.findall(text)
    return int(found[-1]) if found else None


def _wanted(question: Messages) -> int:
    """What is right: the three numbers of ``tasks.sums`` are bottles a crate, crates, bottles sold."""
    bottles, crates, sold = (int(number) for number in _NUMBERS.findall(question[0]["content"])[:3])
    return bottles * crates - sold
