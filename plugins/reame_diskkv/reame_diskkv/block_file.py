"""One block as a file: a header that says what it is, and the cells.

    magic, version, codec | root, parent, key | start, number of tokens | lengths | checksums of the cells as
    exported and as stored | the tokens | checksum of all that | the stored cells

Nothing of a file is believed before its checksum has been compared.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

from xxhash import xxh3_128

from reame_diskkv.chain import KEY_BYTES, TOKEN_BYTES, child_key
from reame_diskkv.codec import Bytes, Compressor, Decompressor

MAGIC = b"reameKV\n"
VERSION = 1
SUM_BYTES = 16
_FIXED = struct.Struct(f"<8sHH{KEY_BYTES}s{KEY_BYTES}s{KEY_BYTES}sIIQQ{SUM_BYTES}s{SUM_BYTES}s")
MOST_TOKENS = 4096
LONGEST_HEADER = _FIXED.size + MOST_TOKENS * TOKEN_BYTES + SUM_BYTES


class DamagedBlock(Exception):
    """A file that is not the block it should be."""


@dataclass(frozen=True)
class Block:
    """Which cells: ``tokens`` (encoded) at position ``start`` of a chain, behind ``parent``."""

    root: bytes
    parent: bytes
    start: int
    tokens: bytes

    @cached_property
    def key(self) -> bytes:
        return child_key(self.parent, self.tokens)

    @property
    def end(self) -> int:
        return self.start + len(self.tokens) // TOKEN_BYTES


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself, verified."""

    block: Block
    codec: int
    raw_length: int
    stored_length: int
    raw_sum: bytes
    stored_sum: bytes
    size: int
    """Bytes of the header itself."""


def checksum(*parts: Bytes) -> bytes:
    """Against accidents: who can write to the folder could make any checksum fit. XXH3 takes a tenth of the
    time that decompressing takes, a cryptographic hash half of it."""
    digest = xxh3_128()
    for part in parts:
        digest.update(part)
    return digest.digest()


def write_block(block: Block, state: bytes, compressor: Compressor) -> list[Bytes]:
    """The file's contents, in parts."""
    codec, payload = compressor.compress(state)
    fixed = _FIXED.pack(
        MAGIC,
        VERSION,
        codec,
        block.root,
        block.parent,
        block.key,
        block.start,
        len(block.tokens) // TOKEN_BYTES,
        len(state),
        sum(map(len, payload)),
        checksum(state),
        checksum(*payload),
    )
    return [fixed, block.tokens, checksum(fixed, block.tokens), *payload]


def read_header(data: Bytes) -> Header:
    """The header at the beginning of ``data``. Raises DamagedBlock."""
    if len(data) < _FIXED.size:
        raise DamagedBlock("cut off in its header")
    fields = _FIXED.unpack_from(data)
    magic, version, codec, root, parent, key, start, count, raw, stored, raw_sum, stored_sum = fields
    if magic != MAGIC or version != VERSION:
        raise DamagedBlock("not a block of this version")
    end = _FIXED.size + count * TOKEN_BYTES
    if count > MOST_TOKENS or len(data) < end + SUM_BYTES:
        raise DamagedBlock("cut off in its header")
    if checksum(data[:end]) != data[end : end + SUM_BYTES]:
        raise DamagedBlock("wrong checksum of its header")
    block = Block(root, parent, start, bytes(data[_FIXED.size : end]))
    if block.key != key:
        raise DamagedBlock("a key that is not that of its tokens")
    return Header(block, codec, raw, stored, raw_sum, stored_sum, end + SUM_BYTES)


def checked_header(data: Bytes) -> Header:
    """The header of a whole file, its stored cells compared with their checksum, which takes little. Raises
    DamagedBlock."""
    header = read_header(data)
    _check_payload(header, memoryview(data)[header.size :])
    return header


def _check_payload(header: Header, payload: memoryview) -> None:
    if len(payload) != header.stored_length:
        raise DamagedBlock(f"{len(payload)} bytes of cells instead of {header.stored_length}")
    if checksum(payload) != header.stored_sum:
        raise DamagedBlock("wrong checksum of the stored cells")


def read_block(data: Bytes, expected: Block | None, decompressor: Decompressor) -> tuple[Block, memoryview]:
    """(block, state) of a file, which must be the ``expected`` block, if one is. The state is valid until the
    decompressor is used again. Raises DamagedBlock."""
    view = memoryview(data)
    header = read_header(view)
    if expected is not None and header.block != expected:
        raise DamagedBlock("another block than its name says")
    payload = view[header.size :]
    _check_payload(header, payload)
    try:
        state = decompressor.decompress(header.codec, payload, header.raw_length)
    except ValueError as error:
        raise DamagedBlock(f"cells that cannot be decompressed: {error}") from None
    if checksum(state) != header.raw_sum:
        raise DamagedBlock("wrong checksum of the cells")
    return header.block, state
