"""Commands on their way to the socket, and values in pieces: the same bytes however they are cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from reame_arca.large import PIECE, _pieces
from reame_arca.packing import Packer
from reame_arca.sealing import Space

PARTS = st.lists(st.binary(max_size=300), max_size=8)


@given(st.binary(max_size=20_000), st.integers())
def test_a_command_is_framed_as_the_protocol_wants_it(value: bytes, number: int) -> None:
    packed = b"".join(Packer().pack("SET", "name", value, "PX", number))
    arguments = [b"SET", b"name", value, b"PX", str(number).encode()]
    framed = b"".join(b"$%d\r\n%b\r\n" % (len(each), each) for each in arguments)
    assert packed == b"*5\r\n" + framed


def test_a_large_value_is_not_copied() -> None:
    value = bytes(100_000)
    assert any(part is value for part in Packer().pack("SET", "name", value))


@given(PARTS, st.sampled_from((None, b"a secret that nobody guesses")))
def test_parts_are_sealed_as_what_they_are_together(parts: list[bytes], secret: bytes | None) -> None:
    space = Space("reame", "test", {}, "", secret)
    sealed = b"".join(space.seal_parts("name", [memoryview(part) for part in parts]))
    assert space.open("name", sealed) == b"".join(parts)
    if secret is None:
        assert sealed == space.seal("name", b"".join(parts))


@given(st.lists(st.integers(0, 2 * PIECE + 3), max_size=4))
def test_pieces_are_full_but_the_last_one(sizes: list[int]) -> None:
    parts = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    pieces = list(_pieces(parts))
    assert b"".join(pieces) == b"".join(parts)
    assert all(len(piece) == PIECE for piece in pieces[:-1])
    assert all(pieces)
