"""What was fetched goes onto the disk, when the prompt that it was fetched for has been computed."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from time import monotonic

from reame_diskkv.background import be_nice
from reame_diskkv.block_file import Header
from reame_diskkv.codec import Bytes
from reame_diskkv.store import Store

DELAY_S = 2.0
"""That writing waits at most for a first token that it would hold up."""

log = logging.getLogger("reame.plugins.diskkv")


class Keeper:
    """At most ``limit`` bytes of files wait; what is more is not kept. ``store`` is one of its own, on the same
    folder as the writer's. For any thread."""

    def __init__(self, store: Store, limit: int, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._store = store
        self._limit = limit
        self._waiting: deque[tuple[int, Callable[[], object]]] = deque()
        self._size = 0
        self._pending: Counter[bytes] = Counter()
        self._changed = threading.Condition()
        self._begin_at = 0.0
        self._busy = False
        self._closing = False
        self._thread: threading.Thread | None = None

    @property
    def paused(self) -> bool:
        """Whether nothing can be stored for now."""
        return self._store.paused

    def is_pending(self, key: bytes) -> bool:
        """Whether this block waits to be written."""
        return self._pending[key] > 0

    def keep(self, header: Header, data: Bytes) -> bool:
        """Write the file of a block, its contents checked, soon; whether it was taken."""
        with self._changed:
            if self._closing or (self._waiting and self._size + len(data) > self._limit):
                return False
            self._pending[header.block.key] += 1
            self._begin_at = self._clock() + DELAY_S
            self._put(len(data), lambda: self._write(header, data))
            return True

    def begin(self) -> None:
        """Nobody waits for a first token any more."""
        if self._begin_at:
            with self._changed:
                self._begin_at = 0.0
                self._changed.notify_all()

    def discard(self, key: bytes) -> None:
        """Remove a block that turned out to be unusable, written or about to be."""
        with self._changed:
            self._put(0, lambda: self._remove(key))

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that was taken is done; whether it is."""
        self.begin()
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def close(self) -> None:
        """Write what waits and stop."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        self._store.close()

    def _put(self, size: int, work: Callable[[], object]) -> None:
        self._waiting.append((size, work))
        self._size += size
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="reame-diskkv-keep", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _run(self) -> None:
        be_nice()
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                while not self._closing and (pause := self._pause()) != 0.0:
                    self._changed.wait(pause)
                if not self._waiting:
                    return
                size, work = self._waiting.popleft()
                self._size -= size
                self._busy = True
            try:
                work()
            except Exception:
                log.exception("a block that was fetched could not be kept; the next one is tried")

    def _pause(self) -> float | None:
        """Seconds until there is something to be done; None for as long as nobody says so."""
        return max(0.0, self._begin_at - self._clock()) if self._waiting else None

    def _write(self, header: Header, data: Bytes) -> None:
        key = header.block.key
        try:
            self._store.adopt(header, data)
        finally:
            with self._changed:
                self._pending[key] -= 1
                if not self._pending[key]:
                    del self._pending[key]

    def _remove(self, key: bytes) -> None:
        self._store.folder.remove(key)
        self._store.discard([key])
