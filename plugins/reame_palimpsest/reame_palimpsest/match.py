"""A question to the archive, and what an answer looks like."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from reame_palimpsest.contexts import GRAM, gram_hash
from reame_palimpsest.generations import LONGEST_MATCH, Tokens

_WORD = np.dtype(">u4")
_NEWEST = struct.Struct(f">{GRAM}I")

VOTERS = 16
"""So many of the latest places with the same past are asked what comes next."""


class Query:
    """The newest tokens of a sequence, ready to be looked up in any number of places."""

    __slots__ = ("context", "gram_hash", "key")

    def __init__(self, tokens: Tokens) -> None:
        """At least ``GRAM`` tokens."""
        self.context = tokens[-LONGEST_MATCH:]
        self.key = self.context[::-1].astype(_WORD).tobytes()
        """The context backwards, so that bytes compare like tokens, the newest first."""
        self.gram_hash = gram_hash(_NEWEST.unpack_from(self.key))


class Place(NamedTuple):
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


def vote(following: Sequence[Hashable]) -> tuple[int, int]:
    """Which of some places to go by, from the tokens that follow them, the latest place last: the most frequent
    token wins, and of the places with it the latest. Its index and the number of votes."""
    newest = following[-1]
    if following.count(newest) == len(following):
        return len(following) - 1, len(following)
    votes = Counter(following)
    token = max(reversed(following), key=votes.__getitem__)
    latest = len(following) - 1 - following[::-1].index(token)
    return latest, votes[token]


def agreement(votes: int, asked: int) -> float:
    """Confidence in a token that ``votes`` of ``asked`` similar places go on with."""
    return (votes + 1) / (asked + 2)
