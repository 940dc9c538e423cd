"""Candidates for every item of a quiz, generated once and kept in a file: votes are counted on them later.

Many items are computed side by side: what they say does not depend on that, but for near-ties of kernels.
"""

from __future__ import annotations

import json
import time
from collections import deque
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
ROWS = 63
"""Candidates computed side by side."""
AT_ONCE = 10
"""Items under way: more than have rows, so that no row is ever idle."""


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
    """Answer the items that ``file`` does not hold yet, and add each to it, as long as ``seconds`` allow."""
    begun = time.monotonic()
    answered = load(file) if file.exists() else []
    known = {each.item.number for each in answered}
    missing = deque(item for item in make_quiz(count, seed) if item.number not in known)
    if not missing:
        return
    with conclave_session(model, ROWS, max_draft=0) as session:
        progress(f"loaded after {time.monotonic() - begun:.0f} s")
        running: list[_Running] = []
        events: SimpleQueue[tuple[_Running, list[Event]]] = SimpleQueue()
        while (running or missing) and time.monotonic() - begun < seconds:
            while missing and len(running) < AT_ONCE:
                running.append(_Running(missing.popleft()))
                one = running[-1]
                session.worker.submit(
                    _request(session, one.item, seed), lambda batch, one=one: events.put((one, batch))
                )
            one, batch = events.get()
            one.take(batch)
            if one.done:
                running.remove(one)
                answered.append(one.answered)
                save(file, answered)
                progress(f"{len(answered)} of {count} items after {time.monotonic() - begun:.0f} s")


class _Running:
    """An item whose candidates are being generated."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self._texts = [""] * MOST
        self._logprobs = [0.0] * MOST
        self._ends: dict[int, Finished] = {}

    def take(self, events: list[Event]) -> None:
        """Raises the error of a candidate that failed."""
        for event in events:
            match event:
                case TextDelta():
                    self._texts[event.choice] += event.text
                    self._logprobs[event.choice] += sum(each.logprob for each in event.logprobs)
                case Finished():
                    self._ends[event.choice] = event
                case Failed():
                    raise event.error

    @property
    def done(self) -> bool:
        return len(self._ends) == MOST

    @property
    def answered(self) -> Answered:
        ends = [self._ends[choice] for choice in range(MOST)]
        return Answered(
            self.item,
            tuple(
                Said(text, end.usage.completion, end.reason == "length", logprob)
                for text, end, logprob in zip(self._texts, ends, self._logprobs, strict=True)
            ),
        )


def _request(session: Session, item: Item, seed: int) -> Request:
    rules = read_rules({"n": MOST, "temperature": TEMPERATURE}, ConclaveOptions())
    return Request(
        prompt=session.chat_tokens(item.messages),
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
