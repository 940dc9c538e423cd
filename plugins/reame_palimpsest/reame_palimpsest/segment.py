"""Looking things up in a sealed segment."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reame_palimpsest.generations import LONGEST_MATCH, Generation, Tokens
from reame_palimpsest.match import VOTERS, Place, Query, agreement, vote
from reame_palimpsest.segment_file import SegmentFile

_WORD = 4
_LARGE = 256
"""Buckets with more places have signposts in memory, for each look at a place is one into two distant pages."""
_APART = 64
_MOST_COMPARED = 512
"""Places with the same past that are compared by age."""


class Found(NamedTuple):
    """The longest match in one segment, of ``length`` tokens: the place at ``inside`` has it, and all others
    that do lie around it in ``bucket``, which like ``inside`` speaks of the segment's order."""

    segment: Segment
    query: Query
    length: int
    bucket: range
    inside: int

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
        self._signposts = self._put_up_signposts(file.array("buckets"))
        self._keys = file.items("keys")
        self._by_key = file.items("by_key")
        self._times = file.items("times")
        self._starts = file.items("starts")
        self._lengths = file.items("lengths")
        self._contexts = file.items("contexts")

    def _put_up_signposts(self, starts: NDArray[np.uint32]) -> dict[int, list[bytes]]:
        """The contexts of some places in each large bucket, by the bucket: of those that are multiples of
        ``_APART`` from its beginning."""
        data, offset, length = self._map, self._stream_offset, _WORD * LONGEST_MATCH
        found = {}
        for bucket in (np.diff(starts) > _LARGE).nonzero()[0].tolist():
            places = self._position_array[starts[bucket] : starts[bucket + 1]][_APART::_APART]
            found[bucket] = [data[at : at + length] for at in (offset + _WORD * places.astype(int)).tolist()]
        return found

    def find(self, query: Query, least: int) -> Found | None:
        """The places with the longest past in common, of at least ``least`` tokens, with ``query``."""
        # For every segment and every token that is generated: this is written for speed.
        key, enough = query.key, least * _WORD
        bucket = query.gram_hash >> self._shift
        first, end = self._buckets[bucket], self._buckets[bucket + 1]
        if first == end or len(key) < enough:
            return None
        data, offset, positions, size = self._map, self._stream_offset, self._positions, len(key)
        low, high = first, end
        below = above = b""
        posts = self._signposts.get(bucket)
        if posts is not None:
            passed = bisect_left(posts, key)
            if passed:
                low, below = first + passed * _APART + 1, posts[passed - 1]
            if passed < len(posts):
                high, above = first + (passed + 1) * _APART, posts[passed]
        while low < high:
            middle = (low + high) >> 1
            at = offset + _WORD * positions[middle]
            context = data[at : at + size]
            if context < key:
                low, below = middle + 1, context
            else:
                high, above = middle, context
        # One of these two has most in common with the key; mostly less than is wanted, as is seen at a glance.
        wanted = key[:enough]
        length_below = common_words(key, below) if below.startswith(wanted) else 0
        length_above = common_words(key, above) if above.startswith(wanted) else 0
        if not length_below and not length_above:
            return None
        if length_below > length_above:
            return Found(self, query, length_below, range(first, end), low - 1)
        return Found(self, query, length_above, range(first, end), low)

    def place(self, found: Found) -> Place:
        """See ``Found.place``."""
        data, offset, positions = self._map, self._stream_offset, self._positions
        prefix = found.query.key[: found.length * _WORD]

        def alike(index: int) -> bool:
            at = offset + _WORD * positions[index]
            return data[at : at + len(prefix)] == prefix

        bucket = found.bucket
        last = furthest(alike, found.inside, bucket.stop - 1)
        first = furthest(alike, found.inside, max(bucket.start, last + 1 - _MOST_COMPARED))
        # Of places whose whole compared past is the same the last ones are the latest.
        latest = np.sort(self._position_array[first : last + 1])[-VOTERS:].tolist()
        following = [data[at - _WORD : at] for at in (offset + _WORD * position for position in latest)]
        chosen, votes = vote(following)
        at = latest[chosen]
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


def furthest(alike: Callable[[int], bool], start: int, end: int) -> int:
    """The last index on the way from ``start``, which is ``alike``, to ``end`` before one that is not. Asks few
    where that is near."""
    way, most = (1 if end >= start else -1), abs(end - start)
    done, step = 0, 1
    while done + step <= most and alike(start + way * (done + step)):
        done += step
        step *= 2
    while step > 1:
        step //= 2
        if done + step <= most and alike(start + way * (done + step)):
            done += step
    return start + way * done


def common_words(a: bytes, b: bytes) -> int:
    """How many words at the beginning of ``a`` and ``b`` are the same."""
    size = min(len(a), len(b))
    different = int.from_bytes(a[:size]) ^ int.from_bytes(b[:size])
    return (size - (different.bit_length() + 7) // 8) // _WORD
