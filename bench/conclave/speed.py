"""Wall time: one answer, a full vote of five, and one that stops early, on the same questions in turns.

"Easy" questions are about a short text, where nearly all agree; "mixed" ones are those of the quiz in turn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from reame_conclave.best_of import Elected, best_of

from bench.conclave.candidates import MAX_TOKENS
from bench.conclave.quiz import Item, make_quiz
from bench.conclave.session import conclave_session
from bench.host import CpuWatch
from bench.report import Figure, Result, Target
from bench.rounds import ratios
from reame_core.engine.engine import Engine
from reame_core.engine.request import Request
from reame_core.session import Session

N = 5
T = TypeVar("T")


def measure_speed(model: Path, items: int, seed: int, progress: Callable[[str], None]) -> Result:
    """The ratios of ``items`` questions of each sort, taken question by question."""
    quiz = make_quiz(14 * items, seed + 1)
    easy = [item for item in quiz if item.kind == "extraction"][:items]
    mixed = [item for item in quiz if item.kind != "extraction"][:items]
    result = Result("conclave speed", model.stem, " ".join((__doc__ or "").split()))
    watch = CpuWatch()
    with conclave_session(model, N) as session:
        warm_up(session, make_quiz(1, seed + 2)[0])
        for name, questions in (("mixed", mixed), ("easy", easy)):
            _compare(session, name, questions, result, progress)
        result.notes.append(f"weight buffers: {session.description['weight buffers']}")
    result.seconds, result.others_cpu = watch.seconds, watch.others_share()
    result.disturbed = result.others_cpu
    return result


def _compare(
    session: Session, name: str, questions: list[Item], result: Result, progress: Callable[[str], None]
) -> None:
    one: list[float] = []
    full: list[float] = []
    early: list[float] = []
    computed: list[float] = []
    tokens: list[float] = []
    for item in questions:
        request = _request(session, item)
        one.append(_timed(session, partial(_answer, session, request))[0])
        seconds, vote = _timed(session, partial(best_of, session, request, n=N, stop="never"))
        full.append(seconds)
        computed.append(_tokens(vote))
        seconds, vote = _timed(session, partial(best_of, session, request, n=N))
        early.append(seconds)
        tokens.append(_tokens(vote))
        progress(f"{name}: {one[-1]:.1f} s, {full[-1]:.1f} s, {early[-1]:.1f} s")
    targets = {"mixed": (Target("≤", 2.5), None), "easy": (None, Target("≤", 1.8))}[name]
    result.figures += [
        Figure.of(f"{name}: full vote of {N} / one answer", ratios(full, one), target=targets[0]),
        Figure.of(f"{name}: early stop / one answer", ratios(early, one), target=targets[1]),
        Figure.of(f"{name}: one answer", one, "s"),
        Figure.of(f"{name}: a full vote", computed, "tokens"),
        Figure.of(f"{name}: early stop", tokens, "tokens"),
    ]


def warm_up(session: Session, item: Item) -> None:
    """Pages of the weights are read, and costs of batches are known."""
    best_of(session, _request(session, item), n=N, stop="never")


def _request(session: Session, item: Item) -> Request:
    return Request(
        prompt=session.chat_tokens(item.messages),
        stop=session.chat_stops,
        max_tokens=MAX_TOKENS,
    )


def _forget(session: Session) -> None:
    """Nothing of an earlier question is remembered, so that each of the three computes the prompt."""
    done = threading.Event()

    def forget(engine: Engine) -> None:
        engine.memory.forget_residents()
        done.set()

    session.worker.call(forget)
    done.wait()


def _answer(session: Session, request: Request) -> None:
    with session.stream(request) as events:
        for _ in events:
            pass


def _timed(session: Session, action: Callable[[], T]) -> tuple[float, T]:
    """(seconds, what came of it)"""
    _forget(session)
    begun = time.perf_counter()
    value = action()
    return time.perf_counter() - begun, value


def _tokens(vote: Elected) -> float:
    return float(vote.report["tokens"]["generated"])
