"""A block's file: whatever happens to it, it is the block or nothing."""

from __future__ import annotations

import numpy as np
import pytest
from reame_diskkv.block_file import Block, DamagedBlock, read_block, read_header, write_block
from reame_diskkv.chain import child_key, common_tokens, decode, encode, root_key
from reame_diskkv.codec import PIECE, SPLIT, WHOLE, Compressor, Decompressor

RANDOM = np.random.default_rng(3)
ROOT = root_key({"model": "m"}, "", 16)


def block(*tokens: int) -> Block:
    return Block(ROOT, ROOT, 0, encode(np.array(tokens or range(16), np.int32)))


def half_precision(count: int) -> bytes:
    return RANDOM.standard_normal(count).astype(np.float16).tobytes()


def stored(state: bytes, *tokens: int) -> bytes:
    return b"".join(bytes(part) for part in write_block(block(*tokens), state, Compressor()))


STATES = {
    "half precision": half_precision(4000),
    "more than one piece": half_precision(PIECE + 999),
    "an odd number of bytes": half_precision(2000) + b"x",
    "noise": RANDOM.bytes(5000),
    "zeros": bytes(4096),
    "one byte": b"7",
    "nothing": b"",
}


@pytest.mark.parametrize("name", STATES)
def test_what_is_written_is_read(name: str) -> None:
    state = STATES[name]
    assert read_block(stored(state), block(), Decompressor()) == (block(), state)
    assert read_block(stored(state), None, Decompressor()) == (block(), state)


def test_half_precision_is_compressed_and_noise_is_not() -> None:
    codec, parts = Compressor().compress(half_precision(100_000))
    assert codec == SPLIT
    assert sum(map(len, parts)) < 0.9 * 200_000
    codec, parts = Compressor().compress(RANDOM.bytes(10_000))
    assert (codec, sum(map(len, parts))) == (WHOLE, 10_000)


def test_what_does_not_pay_is_tried_more_and_more_rarely() -> None:
    compressor = Compressor()
    for _ in range(20):
        assert compressor.compress(RANDOM.bytes(1000))[0] == WHOLE
    codecs = [compressor.compress(half_precision(1000))[0] for _ in range(64)]
    assert WHOLE in codecs
    assert codecs[-1] == SPLIT


def test_every_flipped_bit_is_noticed() -> None:
    """In the header each bit, in the cells every seventh byte."""
    data = stored(half_precision(400))
    size = read_header(data).size
    places = [(at, 1 << bit) for at in range(size) for bit in range(8)]
    places += [(at, 4) for at in range(size, len(data), 7)]
    for at, mask in places:
        damaged = bytearray(data)
        damaged[at] ^= mask
        with pytest.raises(DamagedBlock):
            read_block(bytes(damaged), None, Decompressor())


@pytest.mark.parametrize("missing", [1, 7, 100, -1])
def test_every_other_length_is_noticed(missing: int) -> None:
    data = stored(half_precision(400))
    for length in range(0, len(data), 13):
        with pytest.raises(DamagedBlock):
            read_block(data[:length], None, Decompressor())
    with pytest.raises(DamagedBlock):
        read_block(data[:-missing] if missing > 0 else data + b"\0" * 4096, None, Decompressor())


def test_another_block_is_no_substitute() -> None:
    other = stored(half_precision(100), 1, 2, 3)
    with pytest.raises(DamagedBlock, match="another block"):
        read_block(other, block(), Decompressor())
    same_tokens_elsewhere = Block(ROOT, child_key(ROOT, b"1234"), 16, block().tokens)
    with pytest.raises(DamagedBlock, match="another block"):
        read_block(stored(b"x" * 64), same_tokens_elsewhere, Decompressor())


def test_lies_about_sizes_allocate_nothing() -> None:
    state = half_precision(1000)
    payload = memoryview(b"".join(map(bytes, Compressor().compress(state)[1])))
    for length in (10, 1 << 50, 2002, 1998):
        with pytest.raises(ValueError):
            Decompressor().decompress(SPLIT, payload, length)
    with pytest.raises(ValueError, match="unknown codec"):
        Decompressor().decompress(9, payload, 2000)


def test_keys_do_not_depend_on_the_process() -> None:
    # case 22
    assert root_key({"a": "1", "b": "2"}, "", 128) == root_key({"b": "2", "a": "1"}, "", 128)
    assert root_key({"model": "m"}, "t", 64).hex() == "632e21cdc3e9a0db12072d9b24d3cc3715461468"
    distinct = {
        root_key({"a": "1"}, "", 128),
        root_key({"a": "1"}, "t", 128),
        root_key({"a": "1"}, "", 64),
        root_key({"a": "2"}, "", 128),
        root_key({"a": "1", "b": ""}, "", 128),
        root_key({"a1": ""}, "", 128),
    }
    assert len(distinct) == 6


def test_tokens_in_order() -> None:
    tokens = np.array([0, 1, 255, 256, 70_000], np.int32)
    encoded = [encode(tokens[i : i + 1]) for i in range(5)]
    assert encoded == sorted(encoded)
    assert decode(encode(tokens)) == tokens.tolist()


@pytest.mark.parametrize(
    ("a", "b", "common"), [([], [1], 0), ([1, 2], [1, 2, 3], 2), ([1, 2, 9], [1, 2, 3], 2), ([5], [6], 0)]
)
def test_common_tokens(a: list[int], b: list[int], common: int) -> None:
    first, second = encode(np.array(a, np.int32)), encode(np.array(b, np.int32))
    assert common_tokens(first, second) == common_tokens(second, first) == common
