"""A question to the archive, and what an answer looks like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from reame_palimpsest.contexts import GRAM, gram_hash
from reame_palimpsest.generations import LONGEST_MATCH, Tokens

VOTERS = 16
"""So many of the latest places with the same past are asked what comes next."""


class Query:
    """The newest tokens of a sequence, ready to be looked up in any number of places."""

    def __init__(self, tokens: Tokens) -> None:
        """At least ``GRAM`` tokens."""
        self.context = tokens[-LONGEST_MATCH:]

    @cached_property
    def key(self) -> bytes:
        """The context backwards, so that bytes compare like tokens, the newest first."""
        return self.context[::-1].astype(">u4").tobytes()

    @cached_property
    def gram_hash(self) -> int:
        a, b, c, d = self.context[-GRAM:].tolist()
        return gram_hash((d, c, b, a))


@dataclass(frozen=True, slots=True)
class Place:
    """A place in an earlier generation, after tokens that are the same as the newest ones of a sequence."""

    tokens: Tokens
    position: int
    """Of the token to come, in ``tokens``."""
    length: int
    """How many tokens before it are the same."""
    agreement: float
    """How many of the places like this one go on like it, 0 to 1; careful where there are few."""
    time: int = 0
    """When it was said, where that matters."""


def vote(following: Sequence[int]) -> tuple[int, int]:
    """Which of some places to go by, from the tokens that follow them, the latest place last: the most frequent
    token wins, and of the places with it the latest. Its index and the number of votes."""
    votes = Counter(following)
    token = max(reversed(following), key=votes.__getitem__)
    latest = len(following) - 1 - following[::-1].index(token)
    return latest, votes[token]


def agreement(votes: int, asked: int) -> float:
    """Confidence in a token that ``votes`` of ``asked`` similar places go on with."""
    return (votes + 1) / (asked + 2)
