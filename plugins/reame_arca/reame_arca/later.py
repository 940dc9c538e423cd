"""Work for one thread in the background, within a limit of what may wait."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger("reame.plugins.arca")

Item = TypeVar("Item")


class Later(Generic[Item]):
    """Calls ``work`` with one item after the other, in order, on a thread of its own. Items that wait have
    ``limit`` bytes together at most; a single one may have more. For any thread."""

    def __init__(self, limit: int, work: Callable[[Item], object]) -> None:
        self._limit = limit
        self._work = work
        self._changed = threading.Condition()
        self._waiting: deque[tuple[int, Item]] = deque()
        self._size = 0
        self._busy = False
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="reame-arca-write", daemon=True)
        self._thread.start()

    @property
    def waiting_bytes(self) -> int:
        return self._size

    def put(self, size: int, item: Item) -> bool:
        """Whether it was taken."""
        with self._changed:
            if self._closing or (self._waiting and self._size + size > self._limit):
                return False
            self._waiting.append((size, item))
            self._size += size
            self._changed.notify_all()
            return True

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that was put is done; whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def close(self, timeout: float) -> None:
        """Do what waits, for at most ``timeout`` seconds; give up the rest."""
        self.flush(timeout)
        with self._changed:
            self._closing = True
            self._waiting.clear()
            self._size = 0
            self._changed.notify_all()
        self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting or self._closing)
                if not self._waiting:
                    return
                size, item = self._waiting.popleft()
                self._size -= size
                self._busy = True
            try:
                self._work(item)
            except Exception:
                log.exception("work in the background failed")
