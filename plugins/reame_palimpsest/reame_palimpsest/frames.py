"""Generations as bytes that can be cut off anywhere, damaged anywhere, and still be told apart.

A frame is a row of 32-bit words: the mark, the number of tokens, where the answer begins, time and key in
words of 31 bits, a checksum of all others, the tokens. Only the mark and the checksum may have their highest
bit set, so no tokens, whoever chose them, can look like the beginning of a frame.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reame_palimpsest.generations import MOST_TOKENS, Generation

MARK = 0x9DA11E57
HEADER_WORDS = 8
WORD = 4
_HALF = 31
_BLOCK = 4096
_LOW = (1 << _HALF) - 1

Words = NDArray[np.uint32]


def encode(generation: Generation) -> bytes:
    """One frame."""
    words = np.empty(HEADER_WORDS + len(generation.tokens), "<u4")
    words[0] = MARK
    words[1] = len(generation.tokens)
    words[2] = generation.answer_start
    words[3], words[4] = generation.time >> _HALF, generation.time & _LOW
    words[5], words[6] = generation.prompt_key >> _HALF, generation.prompt_key & _LOW
    words[HEADER_WORDS:] = generation.tokens
    words[7] = _checksum(words)
    return words.tobytes()


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a piece of a file held."""

    generations: list[Generation]
    consumed: int
    """Bytes that need not be looked at again; after them a frame may have begun."""
    damaged: int
    """Bytes among these that belong to no frame."""


def decode(data: bytes, *, final: bool) -> Decoded:
    """The frames in ``data``, which starts between two frames. Damage is stepped over. With ``final`` nothing
    will be appended any more, so that an unfinished frame at the end is damage too."""
    words = np.frombuffer(data, "<u4", count=len(data) // WORD)
    generations: list[Generation] = []
    at = damaged = 0
    while at + HEADER_WORDS <= len(words):
        end = _frame_end(words, at)
        if end is not None and end <= len(words) and (found := _generation(words[at:end])) is not None:
            generations.append(found)
            at = end
            continue
        if end is not None and end > len(words) and not final:
            break
        following = _next_mark(words, at + 1)
        damaged += (following - at) * WORD
        at = following
    if final:
        damaged += len(data) - at * WORD
        at = len(words)
    return Decoded(generations, at * WORD, damaged)


def _frame_end(words: Words, at: int) -> int | None:
    """Where the frame that begins ``at`` would end; None where none begins."""
    if words[at] != MARK or not 0 < words[at + 1] <= MOST_TOKENS:
        return None
    return at + HEADER_WORDS + int(words[at + 1])


def _generation(frame: Words) -> Generation | None:
    if frame[7] != _checksum(frame):
        return None
    count, answer_start, *halves = (int(word) for word in frame[1:7])
    tokens = frame[HEADER_WORDS:].astype(np.int32)
    if answer_start >= count or tokens.min() < 0:
        return None
    time, key = (halves[0] << _HALF) | halves[1], (halves[2] << _HALF) | halves[3]
    return Generation(tokens, answer_start, key, time)


def _next_mark(words: Words, start: int) -> int:
    """The first place from ``start`` on that holds the mark; the end without one."""
    for block in range(start, len(words), _BLOCK):
        places = np.flatnonzero(words[block : block + _BLOCK] == MARK)
        if len(places):
            return block + int(places[0])
    return len(words)


def _checksum(frame: Words) -> int:
    return zlib.crc32(frame[HEADER_WORDS:].tobytes(), zlib.crc32(frame[:7].tobytes()))
