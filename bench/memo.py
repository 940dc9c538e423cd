"""``python -m bench memo``."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import click
from reame_memo.options import Options
from reame_memo.service import Service

from bench.host import describe_host
from bench.report import Figure, Result
from bench.rounds import percentile
from bench.suite import typed_command, write_report
from reame_core.engine.events import TextDelta
from reame_core.engine.request import Request
from reame_core.plugins.api import AnsweredChoice, KnownAnswer, Question

VOCABULARY = 150_000
PROMPT, ANSWER = 1000, 60
"""Tokens, as those of a ticket with its instructions."""
SOME = 2000


@click.command()
@click.option(
    "--answers", type=click.IntRange(SOME), default=100_000, show_default=True, help="How many are kept."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write all figures here.")
def memo(answers: int, json_file: Path | None) -> None:
    """What looking for a known answer takes, where many are kept: of one that is known, and of one that is not,
    which every other request pays for."""
    result = Result("look-up", f"{answers:,} answers", " ".join((memo.help or "").split()))
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder), answers, result)
    result.seconds = time.perf_counter() - started
    click.echo(result.as_text())
    if json_file is not None:
        write_report(json_file, "memo", describe_host(), typed_command(), [result])


def _measure(folder: Path, answers: int, result: Result) -> None:
    generator = random.Random(1)
    beginning = [generator.randrange(VOCABULARY) for _ in range(PROMPT)]

    def question(number: int) -> Question:
        request = Request(prompt=(number, *beginning), max_tokens=ANSWER)
        return Question(request, ANSWER, False)

    tokens = [generator.randrange(VOCABULARY) for _ in range(ANSWER)]
    answer = [AnsweredChoice([TextDelta(0, "text", (token,)) for token in tokens], "stop", ANSWER)]
    options = Options(folder=str(folder), max_size_mb=1e5)
    with closing(Service(options, {"model": "bench"}, VOCABULARY)) as service:
        for number in range(answers):
            asked = question(number)
            service.recall(asked)
            service.keep(asked, answer)
        size = service.store.held().bytes
    with closing(Service(options, {"model": "bench"}, VOCABULARY)) as service:
        known = [question(generator.randrange(answers)) for _ in range(SOME)]
        unknown = [question(answers + number) for number in range(SOME)]
        found, finding = _timed(service.recall, known)
        missed, missing = _timed(service.recall, unknown)
        _, keeping = _timed(lambda asked: service.keep(asked, answer), unknown)
    assert all(isinstance(each, KnownAnswer) for each in found)
    assert missed == [None] * SOME
    for name, spent in {"known": finding, "not known": missing, "kept": keeping}.items():
        result.figures.append(Figure(name, percentile(spent, 50), "µs", min(spent), percentile(spent, 99)))
    result.figures.append(Figure("an answer on disk", size / answers, "bytes"))
    result.notes.append(f"prompts of {PROMPT} tokens, answers of {ANSWER}; under rounds: the least, and 99 %")


def _timed(
    action: Callable[[Question], object], questions: Sequence[Question]
) -> tuple[list[object], list[float]]:
    """What was answered to each, and the microseconds each took."""
    answers, spent = [], []
    for each in questions:
        started = time.perf_counter()
        answers.append(action(each))
        spent.append(1e6 * (time.perf_counter() - started))
    return answers, spent
