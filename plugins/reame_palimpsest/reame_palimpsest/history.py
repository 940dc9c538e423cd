"""Tokens as they come, in which repetitions are found within microseconds.

All but the latest tokens are in a sorted list of grams, of two tokens or more; the latest ones are simply
looked through. Candidates are then compared as far back as ``LONGEST_MATCH``, all at once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reame_palimpsest.generations import LONGEST_MATCH, Tokens

_PAD = LONGEST_MATCH
_NO_TOKEN = -2
"""Before the first token, so that it can be looked back from everywhere."""
_UNINDEXED = 1024
_LOOKED_AT = 4096
"""The latest occurrences of a gram that are looked at."""
_COMPARED = 128
"""The latest of those that are compared as far back as possible."""
_FEW = 64
"""So many are compared at once. Of more it is tried first whether a token further back tells them apart."""
_MULTIPLIER = 0x9E3779B1
_LOW = (1 << 32) - 1
_SMALLEST = 512

Places = NDArray[np.int64]
NOWHERE: Places = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What readers see; replaced as a whole."""

    buffer: Tokens
    proposable: NDArray[np.bool_]
    length: int
    """Of the buffer's used part, padding included."""
    grams: NDArray[np.uint64]
    """Sorted: hash of some tokens, and the place after them."""
    items: memoryview
    """The same, for looking at single ones."""
    indexed: int
    """Places up to this are in ``grams``."""


class History:
    """One thread appends, any may read."""

    def __init__(self, gram: int = 2, capacity: int = _SMALLEST) -> None:
        """``gram`` tokens, 2 or more, have to be the same for a place to be found: the more, the faster."""
        self._gram = gram
        buffer = np.full(_PAD + capacity, _NO_TOKEN, np.int32)
        nothing = np.empty(0, np.uint64)
        self._now = _Snapshot(buffer, np.zeros(len(buffer), np.bool_), _PAD, nothing, nothing.data, _PAD)

    def __len__(self) -> int:
        return self._now.length - _PAD

    @property
    def tokens(self) -> Tokens:
        """(length,) a view."""
        return self._now.buffer[_PAD : self._now.length]

    def append(self, tokens: Tokens, answer_start: int = 0) -> None:
        """Those before ``answer_start`` are never proposed again."""
        now = self._now
        buffer, proposable, length = now.buffer, now.proposable, now.length + len(tokens)
        if length >= len(buffer):  # one place behind the last token is looked at
            buffer = _grown(buffer, 2 * length)
            proposable = _grown(proposable, 2 * length)
        buffer[now.length : length] = tokens
        proposable[now.length + answer_start : length] = True
        grams, indexed = now.grams, now.indexed
        if length - indexed > _UNINDEXED:
            grams, indexed = _sorted_grams(buffer[:length], self._gram), length
        self._now = _Snapshot(buffer, proposable, length, grams, grams.data, indexed)

    def longest(self, context: Tokens, least: int) -> tuple[int, Places]:
        """How many tokens of the end of ``context`` occur at most, and the places after them, the latest last:
        indexes into ``tokens``. At least ``least`` tokens, and as many as a gram has, or there is no place."""
        now, least = self._now, max(least, self._gram)
        if len(context) < least:
            return 0, NOWHERE
        places = _candidates(now, context, self._gram, least)
        if not len(places):
            return 0, NOWHERE
        lengths = _common_lengths(now, context[-LONGEST_MATCH:], places)
        length = int(lengths.max())
        return (length, places[lengths == length] - _PAD) if length >= least else (0, NOWHERE)


Kind = TypeVar("Kind", bound=np.generic)


def _grown(array: NDArray[Kind], length: int) -> NDArray[Kind]:
    larger = np.zeros(length, array.dtype)
    larger[: len(array)] = array
    return larger


def _sorted_grams(buffer: Tokens, gram: int) -> NDArray[np.uint64]:
    words = buffer[_PAD:].view(np.uint32)
    count = max(0, len(words) - gram + 1)
    hashes = np.zeros(count, np.uint32)
    for age in range(gram):
        hashes = (hashes + words[age : age + count]) * np.uint32(_MULTIPLIER)
    grams = hashes.astype(np.uint64) << np.uint64(32)
    grams |= np.arange(_PAD + gram, _PAD + gram + count, dtype=np.uint64)
    grams.sort()
    return grams


def _candidates(now: _Snapshot, context: Tokens, gram: int, least: int) -> Places:
    """The places that may have ``least`` tokens in common with ``context``, the latest last."""
    newest = context[-gram:].tolist()
    places = _latest_places(now, newest[-2], newest[-1])
    indexed = _indexed_places(now, newest)
    if len(indexed):
        places = np.concatenate((indexed, places)) if len(places) else indexed
    if not len(places):
        return NOWHERE
    if least > gram:  # mostly it ends here, since something longer is known already
        places = places[now.buffer[places - least] == context[-least]]
    # The place behind the last token is in the index, and may just be becoming proposable.
    places = places[now.proposable[places] & (places < now.length)]
    return _most_alike(now, context, places)


def _indexed_places(now: _Snapshot, newest: list[int]) -> Places:
    hashed = reduce(lambda value, token: (value + token) * _MULTIPLIER & _LOW, newest, 0) << 32
    low = bisect_left(now.items, hashed)
    high = bisect_right(now.items, hashed | _LOW, low)
    if low == high:
        return NOWHERE
    return (now.grams[max(low, high - _LOOKED_AT) : high] & np.uint64(_LOW)).astype(np.int64)


def _latest_places(now: _Snapshot, before: int, last: int) -> Places:
    """Those that are not in the index, with the newest two tokens before them."""
    start = now.indexed - 1
    recent = now.buffer[start : now.length]
    hits = recent[1:-1] == last
    hits &= recent[:-2] == before
    places: Places = hits.nonzero()[0] + (start + 2)
    return places


def _most_alike(now: _Snapshot, context: Tokens, places: Places) -> Places:
    """At most ``_COMPARED`` of ``places``: those with most in common, then the latest."""
    age = 2
    while len(places) > _FEW and age <= len(context):
        further = places[now.buffer[places - age] == context[-age]]
        if not len(further):
            break
        age += 1
        stubborn = 2 * len(further) > len(places)
        places = further
        if stubborn and len(places) <= _COMPARED:
            break
    return places[-_COMPARED:]


def _common_lengths(now: _Snapshot, context: Tokens, places: Places) -> Places:
    """How far back each of ``places`` is like ``context``."""
    size = len(context)
    windows = np.ndarray((now.length - size + 1, size), np.int32, now.buffer, 0, (4, 4))
    different = (windows[places - size] != context)[:, ::-1]
    lengths: Places = different.argmax(axis=1)
    lengths[~different.any(axis=1)] = size
    return lengths
