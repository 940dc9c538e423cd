"""Candidates for every item of a quiz, generated once and kept in a file: votes are counted on them later.

Many items are computed side by side: what they say does not depend on that, but for near-ties of kernels.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import SimpleQueue

from reame_conclave.options import ConclaveOptions, read_rules
from reame_conclave.rules import samplings

from bench.conclave.quiz import Item, make_quiz
from bench.conclave.session import conclave_session
from reame_core.engine.events import Event, Failed, Finished, TextDelta
from reame_core.engine.request import Request, SamplingParams
from reame_core.session import Session

MOST = 9
"""Candidates of each item; smaller votes are those of the first ones."""
TEMPERATURE = 0.7
"""Of all explorers, so that the first five of nine are the five of a smaller vote."""
MAX_TOKENS = 90
AT_ONCE = 7
"""Items computed side by side."""


@dataclass(frozen=True, slots=True)
class Said:
    """One candidate's answer."""

    text: str
    tokens: int
    cut: bool
    """By ``MAX_TOKENS``."""
    logprob: float


@dataclass(frozen=True, slots=True)
class Answered:
    """An item with its candidates, the greedy one first."""

    item: Item
    candidates: tuple[Said, ...]


def generate(
    model: Path, count: int, seed: int, file: Path, seconds: float, progress: Callable[[str], None]
) -> None:
    """Answer the items that ``file`` does not hold yet, and add them to it, as long as ``seconds`` allow."""
    begun = time.monotonic()
    quiz = make_quiz(count, seed)
    answered = load(file) if file.exists() else []
    missing = [item for item in quiz if item.number not in {each.item.number for each in answered}]
    if not missing:
        return
    with conclave_session(model, AT_ONCE * MOST, max_draft=0) as session:
        progress(f"loaded after {time.monotonic() - begun:.0f} s")
        for start in range(0, len(missing), AT_ONCE):
            batch = missing[start : start + AT_ONCE]
            before = time.monotonic()
            answered += _answers(session, batch, seed)
            spent = time.monotonic() - before
            save(file, answered)
            progress(f"{len(answered)} of {count} items, {spent:.0f} s for the last {len(batch)}")
            if time.monotonic() - begun + 1.2 * spent > seconds:
                break


def _answers(session: Session, items: Sequence[Item], seed: int) -> list[Answered]:
    events: SimpleQueue[tuple[int, list[Event]]] = SimpleQueue()
    for index, item in enumerate(items):
        session.worker.submit(_request(session, item, seed), lambda batch, i=index: events.put((i, batch)))
    texts = [[""] * MOST for _ in items]
    logprobs = [[0.0] * MOST for _ in items]
    ends: dict[tuple[int, int], Finished] = {}
    while len(ends) < len(items) * MOST:
        index, batch = events.get()
        for event in batch:
            match event:
                case TextDelta():
                    texts[index][event.choice] += event.text
                    logprobs[index][event.choice] += sum(each.logprob for each in event.logprobs)
                case Finished():
                    ends[index, event.choice] = event
                case Failed():
                    raise event.error
    return [
        Answered(
            item,
            tuple(
                Said(
                    texts[index][choice],
                    ends[index, choice].usage.completion,
                    ends[index, choice].reason == "length",
                    logprobs[index][choice],
                )
                for choice in range(MOST)
            ),
        )
        for index, item in enumerate(items)
    ]


def _request(session: Session, item: Item, seed: int) -> Request:
    rules = read_rules({"n": MOST, "temperature": TEMPERATURE}, ConclaveOptions())
    return Request(
        prompt=session.chat_tokens([{"role": "user", "content": item.prompt}]),
        stop=session.chat_stops,
        max_tokens=MAX_TOKENS,
        n=MOST,
        sampling_by_choice=tuple(samplings(rules, replace(SamplingParams(), seed=seed))),
        logprobs=0,
    )


def save(file: Path, answered: Sequence[Answered]) -> None:
    """Overwrites ``file``."""
    document = [
        {"item": each.item.as_json(), "candidates": [asdict(said) for said in each.candidates]}
        for each in answered
    ]
    file.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def load(file: Path) -> list[Answered]:
    """What ``save`` has written."""
    return [
        Answered(Item(**each["item"]), tuple(Said(**said) for said in each["candidates"]))
        for each in json.loads(file.read_text("utf-8"))
    ]
