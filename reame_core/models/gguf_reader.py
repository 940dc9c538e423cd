"""Reads the header of one GGUF file, version 2 or 3, little endian, without trusting a byte of it.

Nothing is made from a count or a length before the bytes it speaks of have been read, and the header as a
whole may not exceed ``LARGEST_HEADER``. Damage raises ``HeaderError`` with half a sentence; who knows the
path makes the whole one.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from reame_core.models.gguf_types import ARRAY, SCALARS, STRING, TENSOR_TYPES, tensor_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC = b"GGUF"
VERSIONS = (2, 3)
LARGEST_HEADER = 256 << 20
LONGEST_KEPT_ARRAY = 1024
_LONGEST_NAME = 65_535
_MOST_DIMENSIONS = 4
_MOST_VALUES = 1 << 16
_MOST_TENSORS = 1 << 20
_READ_AT_ONCE = 4 << 20
_LENGTH = struct.Struct("<Q")
_VERSION = struct.Struct("<I")


class HeaderError(Exception):
    """What is wrong with the header, as the rest of a sentence that begins with the file's name."""


@dataclass(frozen=True, slots=True)
class ArraySummary:
    """An array that was skipped: long ones, and all arrays of strings."""

    type: str
    length: int
    digest: str = field(default="", compare=False)
    """Of the strings of an array of strings, as they lie in the file."""


MetadataValue = str | int | float | bool | tuple[int | float | bool, ...] | ArraySummary


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor of a file; ``offset`` counts from the start of the tensor data."""

    name: str
    kind: int
    shape: tuple[int, ...]
    offset: int

    @property
    def type(self) -> str:
        known = TENSOR_TYPES.get(self.kind)
        return known[0] if known else f"type {self.kind}"

    @property
    def size(self) -> int | None:
        """Bytes in the file, None for a type this version does not know."""
        return tensor_bytes(self.kind, self.shape)

    @property
    def elements(self) -> int:
        count = 1
        for length in self.shape:
            count *= length
        return count


@dataclass(frozen=True, slots=True)
class FileHeader:
    """What the header of one file says. Tensor data begins at byte ``data_offset``."""

    version: int
    metadata: Mapping[str, MetadataValue]
    tensors: tuple[TensorInfo, ...]
    data_offset: int

    @property
    def expected_size(self) -> int:
        """Bytes the file needs for all tensors whose size is known."""
        ends = (tensor.offset + (tensor.size or 0) for tensor in self.tensors)
        return self.data_offset + max(ends, default=0)


def parse_header(file: BinaryIO, file_size: int) -> FileHeader:
    """The header of ``file``, which is read from its beginning."""
    cursor = _Cursor(file, file_size)
    if cursor.take(len(MAGIC)) != MAGIC:
        raise HeaderError("does not begin with GGUF")
    version = cursor.version()
    tensor_count = cursor.count("tensors", _MOST_TENSORS)
    value_count = cursor.count("metadata values", _MOST_VALUES)
    metadata: dict[str, MetadataValue] = {}
    for _ in range(value_count):
        key = cursor.string(_LONGEST_NAME)
        metadata[key] = cursor.value()
    tensors = tuple(cursor.tensor() for _ in range(tensor_count))
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise HeaderError("has a tensor alignment that is no power of two")
    data_offset = -(-cursor.position // alignment) * alignment
    return FileHeader(version, metadata, tensors, data_offset)


class _Cursor:
    """Walks through the file; ``_data`` holds everything from its beginning to the furthest byte needed."""

    def __init__(self, file: BinaryIO, file_size: int) -> None:
        self._file = file
        self._size = file_size
        self._data = bytearray()
        self.position = 0

    def _need(self, end: int) -> None:
        if end <= len(self._data):
            return
        if end > self._size:
            raise HeaderError(f"ends inside its header: {self._size:,} bytes, at least {end:,} expected")
        if end > LARGEST_HEADER:
            raise HeaderError(f"has a header of more than {LARGEST_HEADER >> 20} MiB")
        more = max(end - len(self._data), min(_READ_AT_ONCE, LARGEST_HEADER - len(self._data)))
        self._data += self._file.read(more)
        if end > len(self._data):
            raise HeaderError(f"ends inside its header, after {len(self._data):,} bytes")

    def take(self, length: int) -> bytes:
        start = self.position
        self._need(start + length)
        self.position = start + length
        return bytes(self._data[start : start + length])

    def _number(self, layout: struct.Struct) -> int:
        self._need(self.position + layout.size)
        (number,) = layout.unpack_from(self._data, self.position)
        self.position += layout.size
        return int(number)

    def version(self) -> int:
        version = self._number(_VERSION)
        if version & 0xFFFF == 0:
            raise HeaderError("was written for big-endian machines: get the little-endian file")
        if version == 1:
            raise HeaderError("is GGUF version 1, which nothing reads any more: get a newer conversion")
        if version not in VERSIONS:
            raise HeaderError(f"is GGUF version {version}; this Reame reads {VERSIONS[0]} and {VERSIONS[1]}")
        return version

    def count(self, what: str, most: int) -> int:
        count = self._number(_LENGTH)
        if count > most:
            raise HeaderError(f"claims {count:,} {what}, more than {most:,} are not read")
        return count

    def string(self, longest: int = LARGEST_HEADER) -> str:
        length = self._number(_LENGTH)
        if length > longest:
            raise HeaderError(f"has a text of {length:,} bytes where at most {longest:,} are possible")
        return self.take(length).decode("utf-8", errors="replace")

    def value(self) -> MetadataValue:
        kind = self._number(_VERSION)
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            return self._array()
        value: int | float | bool = self._scalars(kind, 1)[0]
        return value

    def _scalars(self, kind: int, count: int) -> tuple[int | float | bool, ...]:
        if kind not in SCALARS:
            raise HeaderError(f"has a metadata value of unknown type {kind}")
        layout = struct.Struct(f"<{count}{SCALARS[kind][1]}")
        return layout.unpack(self.take(layout.size))

    def _array(self) -> MetadataValue:
        kind = self._number(_VERSION)
        length = self._number(_LENGTH)
        if kind == STRING:
            start = self.position
            self._skip_strings(length)
            skipped = memoryview(self._data)[start : self.position]
            digest = hashlib.blake2b(skipped, digest_size=16, person=b"reame-strings").hexdigest()
            # A bytearray cannot grow while somebody looks at it.
            skipped.release()
            return ArraySummary("string", length, digest)
        if kind not in SCALARS:
            raise HeaderError(f"has an array of type {kind}, which llama.cpp does not read either")
        name, layout = SCALARS[kind]
        size = struct.calcsize(f"<{layout}")
        if length <= LONGEST_KEPT_ARRAY:
            return self._scalars(kind, length)
        self._need(self.position + length * size)
        self.position += length * size
        return ArraySummary(name, length)

    def _skip_strings(self, count: int) -> None:
        # the one hot loop: a vocabulary of 260,000 tokens takes 40 ms this way
        unpack, position, left = _LENGTH.unpack_from, self.position, count
        while left:
            data, end = self._data, len(self._data) - _LENGTH.size
            while left and position <= end:
                position += _LENGTH.size + unpack(data, position)[0]
                left -= 1
            self._need(position + _LENGTH.size if left else position)
        self.position = position

    def tensor(self) -> TensorInfo:
        name = self.string(_LONGEST_NAME)
        dimensions = self._number(_VERSION)
        if dimensions > _MOST_DIMENSIONS:
            raise HeaderError(
                f"has a tensor with {dimensions} dimensions, at most {_MOST_DIMENSIONS} are possible"
            )
        shape = tuple(self._number(_LENGTH) for _ in range(dimensions))
        return TensorInfo(name, self._number(_VERSION), shape, self._number(_LENGTH))
