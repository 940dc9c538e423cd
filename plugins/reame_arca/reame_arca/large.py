"""Values of megabytes, in pieces: a store that serves one request at a time stays free for others in between,
and no single answer takes long.

A value is a head under its name and pieces beside it, each write with pieces of its own, so that two servers
that write the same at once do not mix theirs. Everything expires.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec

if TYPE_CHECKING:
    from reame_arca.connection import Client
    from reame_arca.sealing import Bytes, Space

PIECE = 512 * 1024
_AT_ONCE = 8
"""Pieces for which is asked in one round trip."""
_HEAD_LIMIT = 1024


class Head(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """What the store has under the name of a large value."""

    write: str
    size: Annotated[int, msgspec.Meta(gt=0, le=1 << 32)]
    """Bytes of all pieces."""

    def pieces(self, name: str) -> list[str]:
        """The names of its pieces, in order."""
        return [f"{name}:{self.write}:{number}" for number in range(-(-self.size // PIECE))]


def write_large(client: Client, space: Space, name: str, parts: Sequence[Bytes], ttl_s: float) -> Head:
    """Store what ``parts`` are together as the value of ``name`` for ``ttl_s`` seconds. Raises what the client
    raises."""
    sealed = space.seal_parts(name, parts)
    head = Head(secrets.token_hex(8), sum(map(len, sealed)))
    ttl = _milliseconds(ttl_s)
    for piece, value in zip(head.pieces(name), _pieces(sealed), strict=True):
        client.set(piece, value, px=ttl)
    client.set(name, space.seal(name, msgspec.msgpack.encode(head)), px=ttl)
    return head


def read_large(
    client: Client, space: Space, name: str, limit: int, go_on: Callable[[], bool] = lambda: True
) -> Bytes | None:
    """The value of ``name``, of at most ``limit`` bytes; None where there is none that is whole and right, or
    where ``go_on``, asked before each round trip, says no. Raises what the client raises."""
    [head] = read_heads(client, space, [name])
    return None if head is None else read_pieces(client, space, name, head, limit, go_on)


def read_heads(client: Client, space: Space, names: Sequence[str]) -> list[Head | None]:
    """The heads of the values of ``names``, None for those that have no right one, in one round trip. Raises
    what the client raises."""
    with client.pipeline(transaction=False) as pipe:
        for name in names:
            pipe.getrange(name, 0, 2 * _HEAD_LIMIT)
        found = pipe.execute()
    return [_head(space, name, value) for name, value in zip(names, found, strict=True)]


def read_pieces(
    client: Client,
    space: Space,
    name: str,
    head: Head,
    limit: int,
    go_on: Callable[[], bool] = lambda: True,
    ttl_s: float | None = None,
) -> Bytes | None:
    """As ``read_large``, where the head is known. With ``ttl_s`` the value is kept for so long from now on."""
    if not 0 < head.size <= limit + _HEAD_LIMIT:
        return None
    value, end = memoryview(bytearray(head.size)), 0
    pieces = head.pieces(name)
    for first in range(0, len(pieces), _AT_ONCE):
        if not go_on():
            return None
        asked = pieces[first : first + _AT_ONCE]
        with client.pipeline(transaction=False) as pipe:
            for piece in asked:
                pipe.getrange(piece, 0, PIECE)
            for piece in (name, *asked) if ttl_s is not None else ():
                pipe.pexpire(piece, _milliseconds(ttl_s or 0))
            for found in pipe.execute()[: len(asked)]:
                begin, end = end, end + PIECE if end + PIECE < head.size else head.size
                if not isinstance(found, bytes) or len(found) != end - begin:
                    return None
                value[begin:end] = found
    return space.view(name, value)


def remove_large(client: Client, name: str, head: Head) -> None:
    """Remove the value of ``name`` and its pieces. Raises what the client raises."""
    with client.pipeline(transaction=False) as pipe:
        for each in (name, *head.pieces(name)):
            pipe.unlink(each)
        pipe.execute()


def read_small(client: Client, space: Space, name: str, limit: int) -> bytes | None:
    """The value of ``name``, of at most ``limit`` bytes, that was stored in one piece: ``space.seal`` of it.
    None where there is none that is right. Raises what the client raises."""
    found: object = client.getrange(name, 0, limit + _HEAD_LIMIT)
    return space.open(name, found) if isinstance(found, bytes) and found else None


def has(client: Client, name: str) -> bool:
    """Whether there is a value of ``name``, right or wrong."""
    return client.exists(name) == 1


def _pieces(parts: Sequence[Bytes]) -> Iterator[bytes]:
    """All of ``parts``, cut anew."""
    gathered: list[Bytes] = []
    room = PIECE
    for part in parts:
        left = memoryview(part)
        while left:
            taken, left = left[:room], left[room:]
            gathered.append(taken)
            room -= len(taken)
            if not room:
                yield b"".join(gathered)
                gathered, room = [], PIECE
    if gathered:
        yield b"".join(gathered)


def _head(space: Space, name: str, value: object) -> Head | None:
    payload = space.open(name, value) if isinstance(value, bytes) and value else None
    if payload is None:
        return None
    try:
        return msgspec.msgpack.decode(payload, type=Head)
    except msgspec.MsgspecError:
        return None


def _milliseconds(seconds: float) -> int:
    return max(1, int(1000 * seconds))
