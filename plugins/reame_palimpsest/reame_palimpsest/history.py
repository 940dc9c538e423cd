"""Tokens as they come, in which repetitions are found within microseconds.

All but the latest tokens are in a sorted list of pairs; the latest ones are simply looked through. Candidates
are then compared as far back as ``LONGEST_MATCH``, all at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reame_palimpsest.generations import LONGEST_MATCH, Tokens

_PAD = LONGEST_MATCH
_NO_TOKEN = -2
"""Before the first token, so that it can be looked back from everywhere."""
_UNINDEXED = 1024
_LOOKED_AT = 4096
"""The latest occurrences of a pair that are looked at."""
_COMPARED = 64
"""The latest of those that are compared as far back as possible."""
_MULTIPLIERS = 0x9E3779B1, 0x85EBCA6B
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
    pairs: NDArray[np.uint64]
    """Sorted: hash of two tokens, and the place after them."""
    indexed: int
    """Places below this are in ``pairs``."""


class History:
    """One thread appends, any may read."""

    def __init__(self, capacity: int = _SMALLEST) -> None:
        buffer = np.full(_PAD + capacity, _NO_TOKEN, np.int32)
        self._now = _Snapshot(buffer, np.zeros(len(buffer), np.bool_), _PAD, np.empty(0, np.uint64), _PAD)

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
        pairs, indexed = now.pairs, now.indexed
        if length - indexed > _UNINDEXED:
            pairs, indexed = _sorted_pairs(buffer[:length]), length
        self._now = _Snapshot(buffer, proposable, length, pairs, indexed)

    def longest(self, context: Tokens, least: int) -> tuple[int, Places]:
        """How many tokens of the end of ``context`` occur at most, and the places after them, the latest last:
        indexes into ``tokens``. At least ``least`` (2 or more) tokens, or there is no place."""
        now = self._now
        before, last = context[-2:].tolist()
        places = np.concatenate((_indexed_places(now, before, last), _latest_places(now, before, last)))
        # The place behind the last token is in the index, and may just be becoming proposable.
        places = _most_alike(now, context, places[now.proposable[places] & (places < now.length)])
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


def _sorted_pairs(buffer: Tokens) -> NDArray[np.uint64]:
    words = buffer[_PAD:].view(np.uint32)
    before, last = _MULTIPLIERS
    hashes = words[:-1] * np.uint32(before) + words[1:] * np.uint32(last)
    pairs = hashes.astype(np.uint64) << np.uint64(32)
    pairs |= np.arange(_PAD + 2, _PAD + 2 + len(hashes), dtype=np.uint64)
    pairs.sort()
    return pairs


def _indexed_places(now: _Snapshot, before: int, last: int) -> Places:
    if not len(now.pairs):
        return NOWHERE
    pair = (before * _MULTIPLIERS[0] + last * _MULTIPLIERS[1]) & _LOW
    low, high = now.pairs.searchsorted(np.array([pair << 32, (pair << 32) | _LOW], np.uint64))
    places: Places = (now.pairs[max(low, high - _LOOKED_AT) : high] & np.uint64(_LOW)).astype(np.int64)
    return places


def _latest_places(now: _Snapshot, before: int, last: int) -> Places:
    start = now.indexed - 1
    recent = now.buffer[start : now.length]
    hits = recent[1:-1] == last
    hits &= recent[:-2] == before
    places: Places = hits.nonzero()[0] + (start + 2)
    return places


def _most_alike(now: _Snapshot, context: Tokens, places: Places) -> Places:
    """At most ``_COMPARED`` of ``places``: those with more than the pair in common, then the latest."""
    age = 3
    while len(places) > _COMPARED and age <= len(context):
        further = places[now.buffer[places - age] == context[-age]]
        if not len(further):
            break
        places = further
        age += 1
    return places[-_COMPARED:]


def _common_lengths(now: _Snapshot, context: Tokens, places: Places) -> Places:
    """How far back each of ``places`` is like ``context``."""
    size = len(context)
    windows = np.ndarray((now.length - size + 1, size), np.int32, now.buffer, 0, (4, 4))
    different = (windows[places - size] != context)[:, ::-1]
    lengths: Places = different.argmax(axis=1)
    lengths[~different.any(axis=1)] = size
    return lengths
