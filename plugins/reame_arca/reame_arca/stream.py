"""Reading a stream that others may have written anything into: no more is asked for than entries may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reame_arca.connection import Client

BEGINNING = "0-0"
"""The position before the first entry."""
_NEXT = """
local found, after = {}, ARGV[1]
for _ = 1, tonumber(ARGV[2]) do
  local entry = redis.call('XRANGE', KEYS[1], '(' .. after, '+', 'COUNT', 1)[1]
  if not entry then break end
  after = entry[1]
  local fields = entry[2]
  local sound = #fields == 2 and fields[1] == ARGV[3] and #fields[2] <= tonumber(ARGV[4])
  found[#found + 1] = {after, sound and fields[2] or ''}
end
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return {found, newest and newest[1] or '0-0'}
"""
"""One entry after the other, so that the store as well holds no more than one that is too large."""


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """What the stream has."""

    id: str
    value: bytes
    """Sealed; empty for an entry that is none of ours."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some entries, oldest first."""

    entries: list[StreamEntry]
    newest: str
    """The id of the last entry of the stream; ``BEGINNING`` where there is none."""


def read_page(client: Client, stream: str, after: str, count: int, field: bytes, largest: int) -> Page:
    """The entries behind the position ``after``, ``count`` at most, whose only ``field`` has ``largest`` bytes
    at most. Raises what the client raises, and ValueError for what is no answer."""
    answer: Any = client.eval(_NEXT, 1, stream, after, str(count), field, str(largest))
    found, newest = answer
    entries = [StreamEntry(entry.decode("ascii"), bytes(value)) for entry, value in found]
    return Page(entries, newest.decode("ascii"))
