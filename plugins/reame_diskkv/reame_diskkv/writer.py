"""The thread that compresses and writes, as a neighbour that computing hardly notices."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from reame_diskkv.block_file import Block
from reame_diskkv.store import Store

log = logging.getLogger("reame.plugins.diskkv")

MAINTENANCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Pending:
    """A block that waits to be written."""

    block: Block
    state: bytes
    shared: bool


class Writer:
    """Takes blocks from the engine's thread. At most ``queue_bytes`` of cells wait; what is more is dropped."""

    def __init__(self, store: Store, queue_bytes: int) -> None:
        self._store = store
        self._queue_bytes = queue_bytes
        self._waiting_bytes = 0
        self._queue: deque[Pending] = deque()
        self._actions: deque[Callable[[Store], None]] = deque()
        self._stamps: dict[bytes, float] = {}
        self._pending: set[bytes] = set()
        self._changed = threading.Condition()
        self._closing = False
        self._busy = True
        self._thread = threading.Thread(target=self._run, name="reame-diskkv", daemon=True)
        self._thread.start()

    def has_room(self, size: int) -> bool:
        """Whether so many bytes may wait as well."""
        return self._waiting_bytes + size <= self._queue_bytes

    def is_pending(self, key: bytes) -> bool:
        """Whether this block waits to be written."""
        return key in self._pending

    def write(self, block: Block, state: bytes, *, shared: bool = False) -> None:
        """Write a block, and let a far tier have it where it may be ``shared``."""
        with self._changed:
            self._pending.add(block.key)
            self._queue.append(Pending(block, state, shared))
            self._waiting_bytes += len(state)
            self._changed.notify_all()

    def used(self, key: bytes) -> None:
        """Remember, some time, that this block was used now."""
        self._stamps[key] = self._store.stamp()

    def do(self, action: Callable[[Store], None]) -> None:
        """Run ``action`` on the writer's thread, before any more blocks."""
        with self._changed:
            self._actions.append(action)
            self._changed.notify_all()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that was handed over is on disk; whether it is."""
        with self._changed:
            self._actions.append(self._write_stamps)
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not (self._queue or self._actions or self._busy), timeout)

    def close(self, timeout: float | None = None) -> None:
        """Write what waits and stop."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout)

    def _run(self) -> None:
        _be_nice()
        more_to_sweep = True
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                if not (self._queue or self._actions or self._closing):
                    woken = more_to_sweep or self._changed.wait(MAINTENANCE_SECONDS)
                else:
                    woken = True
                action = self._actions.popleft() if self._actions else None
                pending = self._queue.popleft() if self._queue and action is None else None
                if self._closing and action is None and pending is None:
                    break
                self._busy = True
            try:
                if action is not None:
                    action(self._store)
                elif pending is not None:
                    self._write(pending)
                elif more_to_sweep:
                    self._store.sweep_step()
                elif not woken:
                    self._write_stamps(self._store)
                    self._store.expire()
            except Exception:
                log.exception("what was to be done with a block failed; the next one is tried")
            more_to_sweep = not self._store.swept
        self._write_stamps(self._store)
        self._store.close()

    def _write(self, pending: Pending) -> None:
        try:
            self._store.put(pending.block, pending.state, shared=pending.shared)
        finally:
            with self._changed:
                self._pending.discard(pending.block.key)
                self._waiting_bytes -= len(pending.state)

    def _write_stamps(self, store: Store) -> None:
        stamps, self._stamps = self._stamps, {}
        store.used(stamps)
        store.tally()


def _be_nice() -> None:
    """Lowest priority for this thread alone, as Linux can do it: others compute meanwhile."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
