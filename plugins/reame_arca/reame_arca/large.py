"""Values of megabytes, in pieces: a store that serves one request at a time stays free for others in between,
and
no single answer takes long.

A value is a head under its name and pieces beside it, each write with pieces of its own, so that two servers
that
write the same at once do not mix theirs. Everything expires.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from reame_arca.connection import Client
    from reame_arca.sealing import Space

PIECE = 512 * 1024
_AT_ONCE = 8
"""Pieces for which is asked in one round trip."""
_HEAD_LIMIT = 1024


class _Head(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    write: str
    size: int
    """Bytes of all pieces."""


def write_large(client: Client, space: Space, name: str, payload: bytes | memoryview, ttl_s: float) -> None:
    """Store ``payload`` as the value of ``name`` for ``ttl_s`` seconds. Raises what the client raises."""
    write = secrets.token_hex(8)
    value = memoryview(space.seal(name, payload))
    ttl = max(1, int(1000 * ttl_s))
    for number, start in enumerate(range(0, len(value), PIECE)):
        client.set(_piece(name, write, number), bytes(value[start : start + PIECE]), px=ttl)
    head = space.seal(name, msgspec.msgpack.encode(_Head(write, len(value))))
    client.set(name, head, px=ttl)


def read_large(
    client: Client, space: Space, name: str, limit: int, go_on: Callable[[], bool] = lambda: True
) -> bytes | None:
    """The value of ``name``, of at most ``limit`` bytes; None where there is none that is whole and right, or
    where ``go_on``, asked before each round trip, says no. Raises what the client raises."""
    head = _read_head(client, space, name)
    if head is None or not 0 < head.size <= limit + _HEAD_LIMIT:
        return None
    value = bytearray()
    count = -(-head.size // PIECE)
    for first in range(0, count, _AT_ONCE):
        if not go_on():
            return None
        with client.pipeline(transaction=False) as pipe:
            for number in range(first, min(count, first + _AT_ONCE)):
                pipe.getrange(_piece(name, head.write, number), 0, PIECE)
            for piece in pipe.execute():
                if not isinstance(piece, bytes) or not piece:
                    return None
                value += piece
    return space.open(name, memoryview(value)) if len(value) == head.size else None


def read_small(client: Client, space: Space, name: str, limit: int) -> bytes | None:
    """The value of ``name``, of at most ``limit`` bytes, that was stored in one piece: ``space.seal`` of it.
    None where there is none that is right. Raises what the client raises."""
    found: object = client.getrange(name, 0, limit + _HEAD_LIMIT)
    return space.open(name, found) if isinstance(found, bytes) and found else None


def has(client: Client, name: str) -> bool:
    """Whether there is a value of ``name``, right or wrong."""
    return client.exists(name) == 1


def _read_head(client: Client, space: Space, name: str) -> _Head | None:
    payload = read_small(client, space, name, _HEAD_LIMIT)
    if payload is None:
        return None
    try:
        return msgspec.msgpack.decode(payload, type=_Head)
    except msgspec.MsgspecError:
        return None


def _piece(name: str, write: str, number: int) -> str:
    return f"{name}:{write}:{number}"
