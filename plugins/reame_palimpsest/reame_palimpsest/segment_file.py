"""The sealed part of an archive on disk: generations with an index that is used as it lies in the file."""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from reame_palimpsest.contexts import order_contexts
from reame_palimpsest.folders import replace_file
from reame_palimpsest.generations import SEPARATOR, Generation
from reame_palimpsest.log_file import ForeignFile

SUFFIX = ".seg"
HEADER_SIZE = 64
_MAGIC = b"RPALSEG1"
_HEADER = struct.Struct("<8s16sIIIIqqI")
_CHECKSUM = struct.Struct("<I")
_ALIGNMENT = 8
_MOST_BITS = 32
_READ_AT_ONCE = 1 << 20
_FORMATS: dict[str, Literal["I", "Q", "q"]] = {"<u4": "I", "<u8": "Q", "<i8": "q"}


class DamagedFile(Exception):
    """A file that does not hold what was written into it; half a sentence."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first bytes of a segment, which tell where everything else lies."""

    tokenizer: str
    words: int
    places: int
    bits: int
    generations: int
    oldest: int
    newest: int
    checksum: int = 0
    """Of all bytes behind the header."""

    def arrays(self) -> Iterator[tuple[str, int, int, str]]:
        """(name, offset, length, type) of each array in the file."""
        offset = HEADER_SIZE
        for name, length, kind in (
            ("stream", self.words, ">u4"),
            ("positions", self.places, "<u4"),
            ("buckets", (1 << self.bits) + 1, "<u4"),
            ("keys", self.generations, "<u8"),
            ("by_key", self.generations, "<u4"),
            ("times", self.generations, "<i8"),
            ("starts", self.generations, "<u4"),
            ("lengths", self.generations, "<u4"),
            ("contexts", self.generations, "<u4"),
        ):
            yield name, offset, length, kind
            offset = _aligned(offset + length * np.dtype(kind).itemsize)

    @property
    def file_size(self) -> int:
        *_, (_, offset, length, kind) = self.arrays()
        return _aligned(offset + length * np.dtype(kind).itemsize)

    def pack(self) -> bytes:
        tokenizer, *numbers = astuple(self)
        data = _HEADER.pack(_MAGIC, bytes.fromhex(tokenizer), *numbers)
        return (data + _CHECKSUM.pack(zlib.crc32(data))).ljust(HEADER_SIZE, b"\0")


def read_header(file: BinaryIO) -> Header:
    """The header of a segment that is read from its beginning. Raises ForeignFile, DamagedFile or OSError."""
    data = file.read(HEADER_SIZE)
    if not data.startswith(_MAGIC):
        raise ForeignFile("is no segment of an archive")
    magic_to_checksum = data[: _HEADER.size]
    if len(data) < HEADER_SIZE or data[_HEADER.size :][:4] != _CHECKSUM.pack(zlib.crc32(magic_to_checksum)):
        raise DamagedFile("has a damaged header")
    _, tokenizer, *numbers = _HEADER.unpack(magic_to_checksum)
    return Header(tokenizer.hex(), *numbers)


def write_segment(path: Path, tokenizer: str, generations: Sequence[Generation]) -> None:
    """Index ``generations``, at least one, in the order of their times, and write them. Raises OSError."""
    ordered = sorted(generations, key=lambda each: each.time)
    arrays = _arrays(ordered)
    index = order_contexts(arrays["stream"], arrays["starts"], arrays["lengths"], arrays["contexts"])
    arrays |= {"positions": index.positions, "buckets": index.starts}
    header = Header(
        tokenizer,
        words=len(arrays["stream"]),
        places=len(index.positions),
        bits=index.bits,
        generations=len(ordered),
        oldest=ordered[0].time,
        newest=ordered[-1].time,
    )
    pieces = [_piece(arrays[name], kind) for name, _, _, kind in header.arrays()]
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    replace_file(path, [replace(header, checksum=checksum).pack(), *pieces])


def _arrays(generations: Sequence[Generation]) -> dict[str, NDArray[Any]]:
    lengths = np.array([len(each.tokens) for each in generations], np.uint32)
    ends = np.cumsum(lengths + 1)
    stream = np.full(ends[-1], SEPARATOR, np.uint32)
    starts = (ends - lengths - 1).astype(np.uint32)
    for start, each in zip(starts.tolist(), generations, strict=True):
        stream[start : start + len(each.tokens)] = each.tokens[::-1]
    keys = np.array([each.prompt_key for each in generations], np.uint64)
    return {
        "stream": stream,
        "keys": keys,
        "by_key": np.argsort(keys, kind="stable"),
        "times": np.array([each.time for each in generations], np.int64),
        "starts": starts,
        "lengths": lengths,
        "contexts": np.array([each.answer_start for each in generations], np.uint32),
    }


def _piece(array: NDArray[Any], kind: str) -> bytes:
    data = array.astype(kind, copy=False).tobytes()
    return data.ljust(_aligned(len(data)), b"\0")


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class SegmentFile:
    """A segment in memory as it lies on disk: pages are read when they are looked at."""

    def __init__(self, path: Path, tokenizer: str) -> None:
        """Raises ForeignFile, DamagedFile or OSError. Reads all of the file, to verify it and because what is
        looked at later should be in the system's cache by then."""
        with path.open("rb") as file:
            self.header = read_header(file)
            if self.header.tokenizer != tokenizer:
                raise ForeignFile("belongs to another tokenizer")
            _verify(file, self.header)
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.path = path
        self._offsets = {name: (offset, length, kind) for name, offset, length, kind in self.header.arrays()}

    def array(self, name: str) -> NDArray[Any]:
        """A view of one of the header's arrays."""
        offset, length, kind = self._offsets[name]
        return np.frombuffer(self.map, kind, length, offset)

    def items(self, name: str) -> memoryview:
        """One of the arrays for looking at single items, which come faster out of a memoryview."""
        offset, length, kind = self._offsets[name]
        size = np.dtype(kind).itemsize
        return memoryview(self.map)[offset : offset + length * size].cast(_FORMATS[kind])

    def offset(self, name: str) -> int:
        """Where one of the arrays begins in ``map``."""
        return self._offsets[name][0]


def _verify(file: BinaryIO, header: Header) -> None:
    if header.bits > _MOST_BITS or header.file_size != file.seek(0, 2):
        raise DamagedFile("has the wrong size")
    file.seek(HEADER_SIZE)
    checksum = 0
    while block := file.read(_READ_AT_ONCE):
        checksum = zlib.crc32(block, checksum)
    if checksum != header.checksum:
        raise DamagedFile("is damaged")
