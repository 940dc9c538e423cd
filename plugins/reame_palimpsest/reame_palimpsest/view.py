"""What the engine thread sees of a tenant's archive: a snapshot that is replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from reame_palimpsest.contexts import GRAM
from reame_palimpsest.generations import Generation, Tokens
from reame_palimpsest.live import FoundLive, LiveTail
from reame_palimpsest.match import Place, Query, vote
from reame_palimpsest.segment import Found, Segment

_ASKED = 4
"""So many of the latest answers to the same prompt are asked what comes next."""


@dataclass(frozen=True, slots=True)
class View:
    """``tails`` and ``segments`` hold everything, the latest first; up to ``cutoff`` it has expired."""

    tails: tuple[LiveTail, ...] = ()
    segments: tuple[Segment, ...] = ()
    cutoff: int = 0

    @property
    def sources(self) -> tuple[LiveTail | Segment, ...]:
        return (*self.tails, *self.segments)

    def search(self, tokens: Tokens, least: int) -> Place | None:
        """The place with the longest past of at least ``least`` tokens in common with ``tokens``; of several
        the latest part of the archive."""
        if len(tokens) < GRAM:
            return None
        query = Query(tokens)
        best: Found | FoundLive | None = None
        for segment in self.segments:
            best = segment.find(query, least if best is None else best.length + 1) or best
            if best is not None and best.length == len(query.context):
                break
        # The latest tail last: what is as long there as elsewhere is to be preferred, and the more has to be
        # the same the faster a tail answers.
        for tail in reversed(self.tails):
            best = tail.find(query, least if best is None else best.length) or best
        if best is None:
            return None
        place = best.place()
        return place if place.time > self.cutoff else None

    def answer(self, prompt_key: int, prompt_length: int, said: Tokens) -> Place | None:
        """A place in an earlier answer to the same prompt that began with ``said``."""
        alike = (each for each in self.answers_to(prompt_key) if _goes_on(each.answer, said))
        latest = list(islice(alike, _ASKED))[::-1]
        if not latest:
            return None
        chosen, votes = vote([int(each.answer[len(said)]) for each in latest])
        found = latest[chosen]
        position = found.answer_start + len(said)
        length = prompt_length + len(said)
        return Place(found.tokens, position, length, (votes + 1) / (len(latest) + 1), found.time)

    def answers_to(self, prompt_key: int) -> Iterator[Generation]:
        """Answers to the same prompt, the latest first."""
        for source in self.sources:
            for number in reversed(source.answers_to(prompt_key)):
                found = source.generation(number)
                if found.time > self.cutoff:
                    yield found


def _goes_on(answer: Tokens, said: Tokens) -> bool:
    return len(answer) > len(said) and np.array_equal(answer[: len(said)], said)
