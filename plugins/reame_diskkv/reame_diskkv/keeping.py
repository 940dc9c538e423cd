"""What was fetched goes onto the disk, when the prompt that it was fetched for has been computed."""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial

from reame_diskkv.block_file import Header
from reame_diskkv.codec import Bytes
from reame_diskkv.store import Store
from reame_diskkv.writer import Writer


class Keeper:
    """Holds the files of blocks, at most ``limit`` bytes of them, until ``begin``; what is more is not kept.
    They are written by the ``writer``, before the blocks that are computed behind them. For any thread."""

    def __init__(self, writer: Writer, limit: int) -> None:
        self._writer = writer
        self._limit = limit
        self._held: list[tuple[Header, Bytes]] = []
        self._size = 0
        """Of what is held or about to be written."""
        self._pending: Counter[bytes] = Counter()
        self._lock = threading.Lock()

    def is_pending(self, key: bytes) -> bool:
        """Whether this block is held, or about to be written."""
        return self._pending[key] > 0

    def keep(self, header: Header, data: Bytes) -> bool:
        """Write the file of a block, its contents checked, in time; whether it was taken."""
        with self._lock:
            if self._size and self._size + len(data) > self._limit:
                return False
            self._held.append((header, data))
            self._size += len(data)
            self._pending[header.block.key] += 1
            return True

    def begin(self) -> None:
        """Nobody waits for a first token any more: have written what is held."""
        if not self._held:
            return
        with self._lock:
            held, self._held = self._held, []
        for header, data in held:
            self._writer.do(partial(self._write, header=header, data=data))

    def discard(self, key: bytes) -> None:
        """Remove a block that turned out to be unusable, written or not."""
        self.begin()
        self._writer.do(lambda store: _remove(store, key))

    # On the writer's thread

    def _write(self, store: Store, header: Header, data: Bytes) -> None:
        try:
            store.adopt(header, data)
        finally:
            with self._lock:
                self._size -= len(data)
                self._pending[header.block.key] -= 1
                if not self._pending[header.block.key]:
                    del self._pending[header.block.key]


def _remove(store: Store, key: bytes) -> None:
    store.folder.remove(key)
    store.discard([key])
