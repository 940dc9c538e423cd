"""Prompt lookup: drafts from the request's own prompt and answer."""

from __future__ import annotations

from reame_core.plugins.api import Draft
from reame_palimpsest.follower import Follower
from reame_palimpsest.generations import Tokens
from reame_palimpsest.history import History
from reame_palimpsest.match import VOTERS, Place, agreement, vote
from reame_palimpsest.per_sequence import PerSequence


class _OwnPast:
    """One sequence's tokens and its way through them."""

    def __init__(self, min_match: int, temperature: float) -> None:
        self._min_match = min_match
        self._history = History()
        self.follower = Follower(self._search, own=True, temperature=temperature)

    def _search(self, tokens: Tokens) -> Place | None:
        history = self._history
        history.append(tokens[len(history) :])
        if len(tokens) < self._min_match:
            return None
        length, places = history.longest(tokens, self._min_match)
        if not len(places):
            return None
        latest = places[-VOTERS:]
        chosen, votes = vote(tokens[latest].tolist())
        return Place(tokens, int(latest[chosen]), length, agreement(votes, len(latest)))


class PromptLookup:
    """For the engine thread. A match has ``min_match`` tokens, 2 or more."""

    def __init__(self, min_match: int) -> None:
        self._min_match = min_match
        self._pasts: PerSequence[_OwnPast] = PerSequence()

    @property
    def sequences(self) -> int:
        """How many are remembered."""
        return len(self._pasts)

    def propose(self, sequence: int, tokens: Tokens, limit: int, temperature: float = 0.0) -> Draft | None:
        """What may follow ``tokens``, all tokens of ``sequence``, which is drawn at ``temperature``."""
        past = self._pasts.get(sequence, lambda: _OwnPast(self._min_match, temperature))
        return past.follower.propose(tokens, limit)

    def forget(self, sequence: int) -> None:
        """It has ended."""
        self._pasts.pop(sequence)
