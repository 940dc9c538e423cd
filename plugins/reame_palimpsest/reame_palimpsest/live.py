"""The generations of one log, in memory: searchable as soon as they have been appended."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from reame_palimpsest.contexts import GRAM
from reame_palimpsest.generations import SEPARATOR, Generation
from reame_palimpsest.history import History, Places
from reame_palimpsest.match import VOTERS, Place, Query, agreement, vote

_SEPARATOR = np.array([SEPARATOR], np.uint32).view(np.int32)


class FoundLive(NamedTuple):
    """The longest match in one tail."""

    tail: LiveTail
    length: int
    places: Places

    def place(self) -> Place:
        """The one of the places to go by."""
        return self.tail.place(self)


class LiveTail:
    """One thread adds, any may search."""

    def __init__(self) -> None:
        self.generations: list[Generation] = []
        self._starts: list[int] = []
        self._by_key: dict[int, list[int]] = {}
        self._history = History(GRAM)

    @property
    def words(self) -> int:
        """Tokens and separators."""
        return len(self._history)

    @property
    def generation_count(self) -> int:
        return len(self.generations)

    @property
    def oldest(self) -> int:
        return self.generations[0].time if self.generations else 0

    @property
    def newest(self) -> int:
        return self.generations[-1].time if self.generations else 0

    def add(self, generation: Generation) -> None:
        """Make it searchable."""
        # In this order, so that whoever finds a place finds its generation too.
        number = len(self.generations)
        self._starts.append(len(self._history))
        self.generations.append(generation)
        self._history.append(generation.tokens, generation.answer_start)
        self._history.append(_SEPARATOR, 1)
        self._by_key.setdefault(generation.prompt_key, []).append(number)

    def find(self, query: Query, least: int) -> FoundLive | None:
        """The places with the longest past in common, of at least ``least`` tokens, with ``query``."""
        length, places = self._history.longest(query.context, least)
        return FoundLive(self, length, places) if len(places) else None

    def place(self, found: FoundLive) -> Place:
        """See ``FoundLive.place``."""
        latest = found.places[-VOTERS:]
        chosen, votes = vote(self._history.tokens[latest].tolist())
        at = int(latest[chosen])
        number = bisect_right(self._starts, at) - 1
        generation = self.generations[number]
        return Place(
            generation.tokens,
            at - self._starts[number],
            found.length,
            agreement(votes, len(latest)),
            generation.time,
        )

    def answers_to(self, prompt_key: int) -> list[int]:
        """The numbers of the latest generations with this prompt, the latest last."""
        return self._by_key.get(prompt_key, [])[-VOTERS:]

    def generation(self, number: int) -> Generation:
        """By its number, in the order of addition."""
        return self.generations[number]
