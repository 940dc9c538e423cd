"""What the index has of one answered question, sealed as an entry of a stream."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reame_arca.sealing import Space

FIELD = b"q"
LONGEST_TEXT = 2000
"""Characters of a question that is kept."""
LARGEST_VALUE = 32 * 1024
"""Bytes of a sealed entry: of the longest text, and of a vector of 8,000 numbers."""
_VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}:answers:[0-9a-f]{64}")
_LENGTH = (0.98, 1.02)
"""Of a vector that was rounded to 16 bits and is believed."""


class _Entry(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    version: int
    rest: bytes
    text: str
    answer: str
    made_at: float
    vector: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """One question that was answered."""

    rest: bytes
    """Stands for everything but the text: equal for questions that differ in it alone."""
    text: str
    answer: str
    """The name of the answer in the store."""
    made_at: float
    """Seconds since 1970."""


def to_message(space: Space, stream: str, entry: Entry, vector: NDArray[np.float32]) -> dict[Any, Any]:
    """The fields of an entry of ``stream``."""
    told = _Entry(_VERSION, entry.rest, entry.text, entry.answer, entry.made_at, vector.astype("<f2").tobytes())
    return {FIELD: space.seal(stream, msgspec.msgpack.encode(told))}


def from_message(
    space: Space, stream: str, value: bytes, dimension: int
) -> tuple[Entry, NDArray[np.float32]] | None:
    """None for what nobody has sealed for this stream, or what cannot be an entry with a vector of this
    ``dimension`` and of length 1."""
    payload = space.open(stream, value)
    if payload is None:
        return None
    try:
        told = msgspec.msgpack.decode(payload, type=_Entry)
    except msgspec.MsgspecError:
        return None
    if told.version != _VERSION or len(told.vector) != 2 * dimension or len(told.text) > LONGEST_TEXT:
        return None
    vector = np.frombuffer(told.vector, "<f2").astype(np.float32)
    length = float(np.linalg.norm(vector))
    # Not a number is in no interval.
    if not (_LENGTH[0] <= length <= _LENGTH[1] and _NAME.fullmatch(told.answer) and told.made_at >= 0):
        return None
    return Entry(told.rest, told.text, told.answer, told.made_at), vector / np.float32(length)
