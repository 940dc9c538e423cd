"""Ordering all places of a segment by what was said before them, so that equal pasts lie side by side.

A stream holds generations in words, each one *backwards* and followed by a separator: from any place on,
reading ahead is reading back in time. So a context, the newest tokens first, is found by comparing bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reame_palimpsest.generations import LONGEST_MATCH

GRAM = 4
"""Tokens that have to be the same for a place to be found at all."""
_MULTIPLIER = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_PLACES_A_BUCKET = 2
_BITS = np.uint64(21)
"""Of a word's or a place's number: three of them fit in 64 bits."""
_LARGEST = (np.uint64(1) << _BITS) - np.uint64(1)
MOST_WORDS = 1 << 21
"""In one stream."""

Words = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class ContextOrder:
    """The places of a stream in buckets by their newest ``GRAM`` tokens, sorted within each by all of them."""

    positions: Words
    """Places whose next token belongs to an answer, as indexes into the stream."""
    starts: Words
    """(2 ** bits + 1,) where each bucket begins in ``positions``."""
    bits: int


def gram_hash(newest: tuple[int, int, int, int]) -> int:
    """64 bits for the newest tokens of a context, the newest first; the highest bits name the bucket."""
    value = 0
    for token in newest:
        value = ((value ^ token) * _MULTIPLIER) & _MASK
    return value


def order_contexts(stream: Words, starts: Words, lengths: Words, contexts: Words) -> ContextOrder:
    """Sort the places of generations that start at ``starts`` in ``stream`` and have ``lengths`` tokens, of
    which the ``contexts`` earliest ones belong to the prompt. Takes a microsecond a token, for the most part
    without the interpreter lock."""
    if len(stream) > MOST_WORDS:
        raise ValueError(f"{len(stream)} words are too many for one segment")
    places = _places(starts, lengths, contexts)
    bits = max(1, int(len(places) // _PLACES_A_BUCKET).bit_length())
    keys = _gram_hashes(stream, places) >> np.uint64(64 - bits)
    counts = np.bincount(keys.view(np.int64), minlength=1 << bits)
    bucket_starts = np.zeros((1 << bits) + 1, np.uint32)
    np.cumsum(counts, out=bucket_starts[1:])
    keys <<= _BITS
    keys |= _ranks(stream)[places]
    keys <<= _BITS
    keys |= places
    # with the places at the end: of those with the same past the latest comes last
    keys.sort()
    return ContextOrder((keys & _LARGEST).astype(np.uint32), bucket_starts, bits)


def _places(starts: Words, lengths: Words, contexts: Words) -> Words:
    """Every place that has an answer's token ahead and ``GRAM`` tokens behind it, in ascending order."""
    counts = np.maximum(lengths.astype(np.int64) - np.maximum(contexts, GRAM), 0)
    before = np.cumsum(counts) - counts
    first = starts.astype(np.int64) + 1 - before
    places: Words = (np.repeat(first, counts) + np.arange(counts.sum())).astype(np.uint32)
    return places


def _gram_hashes(stream: Words, places: Words) -> NDArray[np.uint64]:
    hashes = np.zeros(len(places), np.uint64)
    for age in range(GRAM):
        hashes ^= stream[places + np.uint32(age)]
        hashes *= np.uint64(_MULTIPLIER)
    return hashes


def _ranks(stream: Words) -> NDArray[np.uint64]:
    """(words,) numbers in the lexicographic order of the ``LONGEST_MATCH`` words from each place on; equal
    where these are. By doubling: ranks of pairs of ranks, each pair sorted together with its place."""
    # No vocabulary is as large; what is, and the separator, comes behind everything a sequence may ask for.
    ranks = np.minimum(stream, _LARGEST).astype(np.uint64)
    step = 1
    while step < LONGEST_MATCH:
        keys = ranks << _BITS
        keys[:-step] |= ranks[step:]
        keys[-step:] |= _LARGEST
        keys <<= _BITS
        keys |= np.arange(len(stream), dtype=np.uint64)
        keys.sort()
        order = (keys & _LARGEST).view(np.int64)
        keys >>= _BITS
        ranks[order[0]] = 0
        ranks[order[1:]] = np.cumsum(keys[1:] != keys[:-1], dtype=np.uint64)
        if ranks[order[-1]] == len(stream) - 1:
            break
        step *= 2
    return ranks
