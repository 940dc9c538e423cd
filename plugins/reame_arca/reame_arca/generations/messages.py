"""One generation as a message of the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from reame_palimpsest.sharing import SharedGeneration

if TYPE_CHECKING:
    from reame_arca.sealing import Space

FIELD = b"g"
LARGEST = 256 * 1024
"""Bytes of a generation that is published: sixty thousand tokens."""
LARGEST_VALUE = LARGEST + 1024
"""Of the value of an entry, with all that it is wrapped in."""


class _Message(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    sender: str
    tenant: str
    content: str
    data: bytes


def to_message(space: Space, stream: str, sender: str, generation: SharedGeneration) -> dict[Any, Any]:
    """The fields of an entry, sealed for this stream."""
    payload = _Message(sender, generation.tenant, generation.content, generation.data)
    return {FIELD: space.seal(stream, msgspec.msgpack.encode(payload))}


def from_message(space: Space, stream: str, value: bytes) -> tuple[str, SharedGeneration] | None:
    """(its sender, the generation); None for what nobody has sealed for this stream."""
    payload = space.open(stream, value)
    if payload is None:
        return None
    try:
        message = msgspec.msgpack.decode(payload, type=_Message)
    except msgspec.MsgspecError:
        return None
    return message.sender, SharedGeneration(message.tenant, message.content, message.data)
