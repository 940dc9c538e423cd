"""Looking things up in a sealed segment."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reame_palimpsest.contexts import GRAM
from reame_palimpsest.generations import Generation, Tokens
from reame_palimpsest.match import VOTERS, Place, Query, agreement, vote
from reame_palimpsest.segment_file import SegmentFile

_WORD = 4
_BEHIND_EVERYTHING = b"\xff" * (_WORD + 1)
_FEW = 4
_MOST_COMPARED = 512
"""Places with the same past that are compared by age."""


@dataclass(frozen=True, slots=True)
class Found:
    """The longest match in one segment, of ``length`` tokens: places around ``nearest`` have it, all of them in
    ``bucket``, which like ``nearest`` speaks of the segment's order."""

    segment: Segment
    query: Query
    length: int
    bucket: range
    nearest: int

    def place(self) -> Place:
        """The one of the places to go by."""
        return self.segment.place(self)


class Segment:
    """Immutable; may be used by any thread, also after the file has been removed."""

    def __init__(self, path: Path, tokenizer: str) -> None:
        """Raises what ``SegmentFile`` raises."""
        file = SegmentFile(path, tokenizer)
        header = file.header
        self.path = path
        self.size = header.file_size
        self.oldest, self.newest = header.oldest, header.newest
        self.words = header.words
        self.generation_count = header.generations
        self._map = file.map
        self._stream = file.array("stream")
        self._stream_offset = file.offset("stream")
        self._position_array = file.array("positions")
        self._positions = file.items("positions")
        self._buckets = file.items("buckets")
        self._shift = 64 - header.bits
        self._keys = file.items("keys")
        self._by_key = file.items("by_key")
        self._times = file.items("times")
        self._starts = file.items("starts")
        self._lengths = file.items("lengths")
        self._contexts = file.items("contexts")

    def find(self, query: Query, least: int) -> Found | None:
        """The places with the longest past in common, of at least ``least`` tokens, with ``query``."""
        if len(query.context) < least:
            return None
        bucket = query.gram_hash >> self._shift
        low, high = self._buckets[bucket], self._buckets[bucket + 1]
        if low == high:
            return None
        order = range(low, high)
        if high - low <= _FEW and not self._holds_gram(order, query.key[: GRAM * _WORD]):
            return None
        key, context = query.key, self._contexts_of(query)
        nearest = bisect_left(order, key, key=context)
        # Nearly all segments know nothing as long as what another one has: that is seen at a glance.
        enough = key[: least * _WORD]
        neighbours = [context(index) for index in order[max(0, nearest - 1) : nearest + 1]]
        lengths = [common_words(key, each) for each in neighbours if each.startswith(enough)]
        return Found(self, query, max(lengths), order, nearest) if lengths else None

    def _holds_gram(self, order: range, gram: bytes) -> bool:
        """Most buckets are full of other grams, and few."""
        data, offset, positions = self._map, self._stream_offset, self._positions
        for index in order:
            at = offset + _WORD * positions[index]
            if data[at : at + len(gram)] == gram:
                return True
        return False

    def _contexts_of(self, query: Query) -> Callable[[int], bytes]:
        """What lies behind each place of the order, as far back as ``query`` looks."""
        data, offset, positions, size = self._map, self._stream_offset, self._positions, len(query.key)

        def context(index: int) -> bytes:
            at = offset + _WORD * positions[index]
            return data[at : at + size]

        return context

    def place(self, found: Found) -> Place:
        """See ``Found.place``."""
        order, context = found.bucket, self._contexts_of(found.query)
        prefix = found.query.key[: found.length * _WORD]
        low = order.start + bisect_left(order, prefix, hi=found.nearest, key=context)
        high = order.start + bisect_left(order, prefix + _BEHIND_EVERYTHING, lo=found.nearest, key=context)
        # Of places whose whole compared past is the same the last ones are the latest.
        alike = self._position_array[max(low, high - _MOST_COMPARED) : high]
        latest = np.sort(alike)[-VOTERS:]
        chosen, votes = vote(self._stream[latest - 1].tolist())
        at = int(latest[chosen])
        number = bisect_right(self._starts, at) - 1
        tokens = self._tokens(number)
        position = len(tokens) - (at - self._starts[number])
        return Place(tokens, position, found.length, agreement(votes, len(latest)), self._times[number])

    def answers_to(self, prompt_key: int) -> list[int]:
        """The numbers of the latest generations with this prompt, the latest last."""
        key_of = self._keys.__getitem__
        low = bisect_left(self._by_key, prompt_key, key=key_of)
        high = bisect_right(self._by_key, prompt_key, lo=low, key=key_of)
        return self._by_key[max(low, high - VOTERS) : high].tolist()

    def generation(self, number: int) -> Generation:
        """A copy of one generation; they are numbered in the order of their times."""
        return Generation(self._tokens(number), self._contexts[number], self._keys[number], self._times[number])

    def _tokens(self, number: int) -> Tokens:
        start, length = self._starts[number], self._lengths[number]
        tokens: Tokens = self._stream[start : start + length][::-1].astype(np.int32)
        return tokens


def common_words(a: bytes, b: bytes) -> int:
    """How many words at the beginning of ``a`` and ``b`` are the same."""
    size = min(len(a), len(b))
    different = int.from_bytes(a[:size]) ^ int.from_bytes(b[:size])
    return (size - (different.bit_length() + 7) // 8) // _WORD
