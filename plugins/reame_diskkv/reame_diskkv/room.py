"""Room on the disk: what goes when there is not enough, and what has been there for too long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reame_diskkv.counts import Counts
from reame_diskkv.folder import BlockFolder
from reame_diskkv.index import Entry, Index

INDEX_GROWTH = 128 << 10
"""More than the index grows by adding one block."""
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be kept."""

    max_bytes: int
    """On disk, index and sessions included."""
    ttl_seconds: float | None = None
    """Blocks that were not used for so long are removed."""


class Room:
    """For the writer's thread. All methods raise what disk and index raise."""

    def __init__(self, folder: BlockFolder, limits: Limits, counts: Counts) -> None:
        self._folder = folder
        self.limits = limits
        self._counts = counts

    def make(self, index: Index, size: int, parent: bytes = b"") -> bool:
        """Whether ``size`` more bytes are within the limit, after evicting what has to go for them."""
        limit = max(0, self.limits.max_bytes - index.own_bytes - INDEX_GROWTH)
        if size > limit:
            return False
        surplus = index.total().on_disk + size - limit
        return surplus <= 0 or self.evict(index, surplus, parent)

    def evict(self, index: Index, size: int, parent: bytes = b"") -> bool:
        """Evict ``size`` bytes of the blocks that were not used for longest, but never ``parent``; whether
        there were so many."""
        while size > 0:
            victims = self._victims(index, size, parent)
            if not victims:
                return False
            size -= sum(entry.file_bytes for entry in victims)
            self._remove(index, victims)
            self._counts.evicted += len(victims)
        return True

    def evict_from_full_disk(self, index: Index, size: int, parent: bytes = b"") -> None:
        """Evict ``size`` bytes where not even the index can grow, which has to say what was evicted: all in one
        transaction, that is written when the files are gone."""
        # Each page of the index is written once.
        wanted = size + index.own_bytes + INDEX_GROWTH
        count = 0
        with index.transaction():
            while wanted > 0 and (victims := self._victims(index, wanted, parent)):
                # An earlier attempt that failed has left entries without files.
                wanted -= sum(entry.file_bytes for entry in victims if self._folder.remove(entry.key))
                index.remove([entry.key for entry in victims])
                count += len(victims)
        self._counts.evicted += count

    def _victims(self, index: Index, size: int, parent: bytes) -> list[Entry]:
        """The first to go, no more than for ``size`` bytes."""
        chosen: list[Entry] = []
        for entry in index.leaves(_AT_ONCE):
            if size <= 0:
                break
            if entry.key != parent:
                chosen.append(entry)
                size -= entry.file_bytes
        return chosen

    def evict_all(self, index: Index) -> None:
        """Remove all blocks that nobody keeps."""
        while victims := index.leaves(256):
            self._remove(index, victims)
            self._counts.evicted += len(victims)

    def expire(self, index: Index, now: float) -> bool:
        """Remove what was not used for longer than the limit says, and what is above the size limit; whether
        that was enough."""
        if self.limits.ttl_seconds is not None:
            while old := index.leaves_unused_since(now - self.limits.ttl_seconds, _AT_ONCE):
                self._remove(index, old)
                self._counts.expired += len(old)
        return self.make(index, 0)

    def _remove(self, index: Index, entries: Iterable[Entry]) -> None:
        keys = [entry.key for entry in entries]
        for key in keys:
            self._folder.remove(key)
        with index.transaction():
            index.remove(keys)
