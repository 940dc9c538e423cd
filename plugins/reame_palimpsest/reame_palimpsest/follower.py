"""From a match to a draft: a sequence that repeats something is followed there, over small edits too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reame_core.plugins.api import Draft
from reame_palimpsest.generations import Tokens
from reame_palimpsest.match import Place

Search = Callable[[Tokens], Place | None]
"""The best place for all tokens of a sequence."""

_LOST_FOR = 12
"""Tokens after which a stream that was left is not come back to."""
_NEARBY = 24
"""Tokens behind the place where a stream was left in which it may be met again."""
_FOUND_AGAIN = 4
"""Tokens in a row that end the search around that place."""
_AFTER_EDIT = 0.6
"""Confidence in a stream that was left and met again."""


class Trail:
    """A stream of earlier tokens that a sequence has been repeating."""

    __slots__ = ("_lost_at", "_lost_for", "confidence", "matched", "position", "stream")

    def __init__(self, place: Place) -> None:
        self.stream = place.tokens
        self.position = place.position
        """Of the token to come, in ``stream``."""
        self.matched = place.length
        """Tokens before it that were the same; 0 just after an edit."""
        self.confidence = place.agreement
        self._lost_at = -1
        self._lost_for = 0

    @property
    def certain(self) -> bool:
        """Whether the latest tokens were all as expected."""
        return self._lost_at < 0

    @property
    def at_end(self) -> bool:
        """Whether nothing is left to propose."""
        return self.position >= len(self.stream)

    def follow(self, fresh: Tokens) -> bool:
        """Go on by the tokens ``fresh``; False where the stream is lost for good."""
        expected = self.stream[self.position : self.position + len(fresh)]
        if self.certain and len(expected) == len(fresh) and np.array_equal(expected, fresh):
            self.position += len(fresh)
            self.matched += len(fresh)
            return True
        return all(self._step(token) for token in fresh.tolist())

    def _step(self, token: int) -> bool:
        same = self.position < len(self.stream) and self.stream[self.position] == token
        if same:
            self.position += 1
            self.matched += 1
            if self.matched >= _FOUND_AGAIN:
                self._lost_at = -1
        elif self.certain:
            self._lost_at, self._lost_for = self.position, 0
            self.confidence = _AFTER_EDIT
        if self.certain:
            return True
        self._lost_for += 1
        if not same:
            self._guess(token)
        return self._lost_for <= _LOST_FOR

    def _guess(self, token: int) -> None:
        """Some tokens were left out, or as many were replaced as have come since."""
        nearby = self.stream[self._lost_at : self._lost_at + _NEARBY]
        places = (nearby == token).nonzero()[0]
        if len(places):
            nearest = int(abs(places - self._lost_for + 1).argmin())
            self.position, self.matched = self._lost_at + int(places[nearest]) + 1, 1
        else:
            self.position, self.matched = self._lost_at + self._lost_for, 0


class Follower:
    """One sequence's way through what was said before.

    ``search`` is asked where nothing is followed with certainty. With ``own`` it finds places in the sequence
    itself, which grows: what repeats itself there is expected to go on doing so. The higher the ``temperature``
    at which the sequence is drawn, the less is to be expected of what was said before.
    """

    def __init__(self, search: Search, *, own: bool = False, temperature: float = 0.0) -> None:
        self._search = search
        self._own = own
        self._trust = 1 / (1 + temperature)
        self._known = 0
        self._trail: Trail | None = None

    def propose(self, tokens: Tokens, limit: int) -> Draft | None:
        """Up to ``limit`` tokens that may follow ``tokens``, all tokens of the sequence."""
        fresh = tokens[self._known :]
        self._known = len(tokens)
        trail = self._trail
        if trail is not None:
            if self._own:
                trail.stream = tokens
            if not trail.follow(fresh) or trail.at_end:
                trail = None
        if trail is None or not trail.certain:
            trail = self._better_than(trail, tokens)
        self._trail = trail
        if trail is None or trail.at_end:
            return None
        draft = self._ahead(trail, limit).tolist()
        return Draft(draft, confidence=self._trust * trail.confidence, match_length=trail.matched)

    def _better_than(self, trail: Trail | None, tokens: Tokens) -> Trail | None:
        place = self._search(tokens)
        if place is None or (trail is not None and place.length <= trail.matched):
            return trail
        return Trail(place)

    def _ahead(self, trail: Trail, limit: int) -> Tokens:
        ahead = trail.stream[trail.position : trail.position + limit]
        if self._own and len(ahead) < min(limit, trail.matched + 1):
            # As much has been repeated as lies ahead: it comes again and again.
            return np.resize(ahead, limit)
        return ahead
