"""Writing: what is stored, and what the folder really holds. For the writer's thread."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from reame_diskkv.block_file import Block, Header, write_block
from reame_diskkv.codec import Bytes, Compressor
from reame_diskkv.counts import Counts
from reame_diskkv.days import DayBook
from reame_diskkv.folder import SHARDS, BlockFolder
from reame_diskkv.index import Index, IndexBroken, IndexUnusable
from reame_diskkv.opening import open_index, set_aside
from reame_diskkv.room import Limits, Room
from reame_diskkv.session_files import SessionFiles
from reame_diskkv.sessions import compare
from reame_diskkv.sweeping import sweep

PAUSE_SECONDS = 30.0
"""After a write that failed nothing is stored for so long."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Store:
    """All methods but the constructor raise nothing: a cache that cannot write is one that forgets."""

    def __init__(
        self,
        folder: BlockFolder,
        limits: Limits,
        counts: Counts,
        warn: Callable[[str], None],
        *,
        level: int = 1,
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self.sessions = SessionFiles(folder)
        self.room = Room(folder, limits, counts)
        self.counts = counts
        self._warn = warn
        self._compressor = Compressor(level)
        self._wall = wall
        self._clock = clock
        self._index: Index | None = None
        self._paused_until = float("-inf")
        self._warned: set[str] = set()
        self._next_shard = 0
        self._compared = False
        """Whether index and files have been compared to the end."""
        self._latest = 0.0
        self._days = DayBook(counts)
        self.written: Callable[[Block, Sequence[Bytes]], None] | None = None
        """Told of shared blocks that ``put`` has written, and given their files."""
        self.generation = 0
        """Grows whenever the index was made anew: whoever has it open must open it again."""

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    @property
    def paused(self) -> bool:
        return self._clock() < self._paused_until

    @property
    def swept(self) -> bool:
        """Whether files and index have been compared since the start."""
        return self._next_shard >= SHARDS

    def put(self, block: Block, state: bytes, *, shared: bool = False) -> bool:
        """Store a block, if that is possible; whether it is there now. ``written`` is told of those that may be
        ``shared``."""
        if self.paused:
            self.counts.dropped += 1
            return False
        started = time.perf_counter()
        try:
            stored = self._put(block, state, shared)
        except (OSError, IndexUnusable) as error:
            self._fail("write", error)
            return False
        except IndexBroken as error:
            self._begin_anew(error)
            return False
        self.counts.write_seconds += time.perf_counter() - started
        return stored

    def adopt(self, header: Header, data: Bytes) -> bool:
        """Store the file of a block that was written elsewhere; whether it is there now."""
        if self.paused:
            return False
        try:
            return self._store(header.block, lambda: [data], header.raw_length) is not None
        except (OSError, IndexUnusable) as error:
            self._fail("write", error)
        except IndexBroken as error:
            self._begin_anew(error)
        return False

    def _put(self, block: Block, state: bytes, shared: bool) -> bool:
        parts = self._store(block, lambda: write_block(block, state, self._compressor), len(state))
        if parts is None:
            return False
        if parts:
            self.counts.written_blocks += 1
            self.counts.written_bytes += sum(map(len, parts))
            if shared and self.written is not None:
                self.written(block, parts)
        return True

    def _store(
        self, block: Block, made: Callable[[], Sequence[Bytes]], raw_bytes: int
    ) -> Sequence[Bytes] | None:
        """The file that was written, an empty one where it was there; None where it cannot be."""
        index = self._opened()
        if index.covering(block.parent, block.tokens) is not None:
            return ()
        if block.parent != block.root and index.by_key(block.parent) is None:
            # Evicted or lost meanwhile: nobody would ever find what comes behind it.
            self.counts.dropped += 1
            return None
        parts = made()
        size = sum(map(len, parts))
        try:
            fits = self._write_within_limit(index, block, parts, raw_bytes)
        except (OSError, IndexUnusable) as error:
            # What sessions keep is known to the index once it has been compared with the files.
            if not (_disk_full(error) and self._compared):
                raise
            # More than this block needs: the next ones need as much.
            self.room.evict_from_full_disk(index, 4 * size, block.parent)
            fits = self._write_within_limit(index, block, parts, raw_bytes)
        if not fits:
            self.counts.too_large += 1
            return None
        return parts

    def _write_within_limit(self, index: Index, block: Block, parts: Sequence[Bytes], raw_bytes: int) -> bool:
        """Whether there is room for it."""
        if not self.room.make(index, sum(map(len, parts)), block.parent):
            return False
        self._write(index, block, parts, raw_bytes)
        return True

    def _write(self, index: Index, block: Block, parts: Sequence[Bytes], raw_bytes: int) -> None:
        size = self.folder.write(block.key, parts)
        try:
            with index.transaction():
                index.add(block, raw_bytes, size, self.stamp())
                self._supersede(index, block)
        except BaseException:
            # A block that nobody can find would only take room.
            self.folder.remove(block.key)
            raise

    def _supersede(self, index: Index, block: Block) -> None:
        """Remove shorter blocks that hold nothing else; whoever kept them keeps this one."""
        while (shorter := index.before(block.parent, block.tokens[:-1])) is not None:
            if not block.tokens.startswith(shorter.block.tokens):
                break
            index.run("UPDATE pin SET key = ? WHERE key = ?", (block.key, shorter.key))
            self.folder.remove(shorter.key)
            index.remove([shorter.key])

    def stamp(self) -> float:
        """The time, except that it never runs backwards: who comes later was used later. Any thread may ask."""
        self._latest = max(self._wall(), self._latest + 1e-6)
        return self._latest

    def discard(self, keys: Iterable[bytes]) -> None:
        """Forget blocks that turned out to be unusable."""

        def discard(index: Index) -> None:
            with index.transaction():
                index.remove(keys)

        self.attempt(discard)

    # Keeping house

    def attempt(self, action: Callable[[Index], None], *, pauses: bool = True) -> bool:
        """Do something with the index that may as well not be done: nothing is evicted for it. Whether it was
        done. Trouble ``pauses`` storing, or that of a full disk does not: ``put`` may still make room."""
        try:
            action(self._opened())
        except (OSError, IndexUnusable) as error:
            if not pauses and _disk_full(error):
                self.counts.failures["index"] += 1
                return False
            self._fail("index", error)
        except IndexBroken as error:
            self._begin_anew(error)
        else:
            return True
        return False

    def examine(self) -> None:
        """Somebody found the index broken: look at all of it, which makes a broken one anew."""
        self.attempt(lambda index: index.examine())

    def describe(self, root: bytes, description: Mapping[str, object]) -> None:
        """Remember what the chains of ``root`` belong to."""
        text = json.dumps(description, sort_keys=True)

        def write(index: Index) -> None:
            index.run(
                "INSERT INTO root VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
                "description = excluded.description, used = excluded.used",
                (root, text, self._wall()),
            )

        if not self.paused:
            self.attempt(write, pauses=False)

    def tally(self) -> None:
        """Add what has been counted since the last time to the figures of the day."""
        if self._days.has_news and not self.paused:
            self.attempt(lambda index: self._days.write(index, self._wall()), pauses=False)

    def used(self, stamps: Mapping[bytes, float]) -> None:
        """Remember when blocks were used."""

        def write(index: Index) -> None:
            with index.transaction():
                index.stamp(stamps.items())

        if stamps and not self.paused:
            self.attempt(write, pauses=False)

    def expire(self) -> None:
        """Remove what was not used for longer than the limit says, and what is above the size limit."""
        if self.swept and not self._compared and not self.paused:
            self._next_shard = 0  # the comparison broke off: again

        def expire(index: Index) -> None:
            if not self.room.expire(index, self._wall()):
                limit = f"{self.room.limits.max_bytes / 1e6:,g} MB of plugins.diskkv.max_size_mb"
                self._warn_once(
                    f"sessions keep more in {self.folder.path} than the {limit}: nothing else is stored until "
                    "some are deleted or it is raised"
                )

        self.attempt(expire)

    def find_sessions(self) -> bool:
        """Make the index say of sessions what their files say; whether it does."""
        return self.attempt(lambda index: compare(index, self.sessions))

    def sweep_step(self) -> bool:
        """Compare one more folder with the index; whether there is more to do."""
        if self.swept:
            return False
        if self._next_shard == 0:
            self.folder.remove_stale_parts()
            self.find_sessions()
        shard = self._next_shard
        if not self.attempt(lambda index: sweep(index, self.folder, shard, self.counts, self._wall())):
            self._next_shard = SHARDS
            return False
        self._next_shard += 1
        if self._next_shard == SHARDS:
            # Once more, for now their blocks have been found. What they keep stays.
            self._compared = self.find_sessions()
            self.expire()
            return False
        return True

    # When the index or the disk fails

    def _opened(self) -> Index:
        if self._index is not None and not self._index.is_current:
            self._index.close()
            self._index = None
        if self._index is None:
            self._index = open_index(self.folder.path, self._warn)
            self._latest = max(self._latest, self._index.latest_stamp())
            self.generation += 1
            self._next_shard, self._compared = 0, False
        return self._index

    def _begin_anew(self, error: IndexBroken) -> None:
        self.counts.failures["index"] += 1
        self.close()
        try:
            set_aside(self.folder.path)
        except IndexUnusable as unusable:
            self._fail("index", unusable)
            return
        self._warn(
            f"the index in {self.folder.path} is broken ({error}): it is made anew from the blocks' files"
        )

    def _fail(self, kind: str, error: Exception) -> None:
        self.counts.failures[kind] += 1
        self._paused_until = self._clock() + PAUSE_SECONDS
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        self._warn_once(f"storing in {self.folder.path} is paused, tried again from time to time: {reason}")

    def _warn_once(self, message: str) -> None:
        """The same trouble is told once, not each time that it is met again."""
        if message not in self._warned:
            self._warned.add(message)
            self._warn(message)


def _disk_full(error: OSError | IndexUnusable) -> bool:
    return error.errno in _FULL if isinstance(error, OSError) else error.disk_full
