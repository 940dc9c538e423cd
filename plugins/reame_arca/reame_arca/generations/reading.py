"""Reading a stream that others may have written anything into: no more is asked for than entries may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reame_arca.generations.messages import FIELD, LARGEST_VALUE

if TYPE_CHECKING:
    from reame_arca.connection import Client

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
return found
"""
"""One entry after the other, so that the store as well holds no more than one that is too large."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the stream has."""

    id: str
    value: bytes
    """Sealed; empty for an entry that is none of ours."""


def read_entries(client: Client, stream: str, after: str, count: int) -> list[Entry]:
    """The next entries, ``count`` at most. Raises what the client raises, and ValueError for what is no
    answer."""
    answer: Any = client.eval(_NEXT, 1, stream, after, str(count), FIELD, str(LARGEST_VALUE))
    return [Entry(entry.decode("ascii"), bytes(value)) for entry, value in answer]
