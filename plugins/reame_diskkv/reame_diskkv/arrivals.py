"""Blocks on their way from a far tier to the engine: opened on one thread, restored on the other."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reame_diskkv.codec import Decompressor
from reame_diskkv.lookup import Step
from reame_diskkv.tiers import FarBlock, FarTier, Link


class OpenBlocks:
    """Memory for the cells of so many blocks at once: whoever opens more waits until one is restored. For any
    thread."""

    def __init__(self, count: int) -> None:
        self._free = [Decompressor() for _ in range(count)]
        self._changed = threading.Condition()

    def get(self, wanted: Callable[[], bool]) -> Decompressor | None:
        """What opens one block; None as soon as it is not ``wanted`` any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._free or not wanted())
            return self._free.pop() if wanted() else None

    def give_back(self, decompressor: Decompressor) -> None:
        """Its cells are not needed any more."""
        with self._changed:
            self._free.append(decompressor)
            self._changed.notify_all()

    def look_again(self) -> None:
        """Something may not be wanted any more."""
        with self._changed:
            self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class Arrival:
    """A block that has come, everything about it checked."""

    far: FarBlock
    step: Step
    state: memoryview
    """Its cells, until it is given back."""
    decompressor: Decompressor


class Fetch:
    """What is on its way for one sequence: the engine's thread looks, a thread of the fetcher says."""

    def __init__(
        self,
        links: Sequence[Link],
        before: int,
        limit: int,
        far: FarTier,
        open_blocks: OpenBlocks,
        now: float,
    ) -> None:
        self.links = links
        self.before = before
        """Tokens that are in memory without it."""
        self.limit = limit
        """Tokens of the prompt that can be restored."""
        self.far = far
        self.news = threading.Event()
        """Set whenever a block has come, when it is known how long the next one may take, and at the end."""
        self.ended = False
        """Whether nothing comes any more; what has come may still be there to be taken."""
        self.patience_s = far.patience_s
        """How long to wait for the next news."""
        self.looked_at = now
        """When the engine's thread did so last."""
        self._open = open_blocks
        self._lock = threading.Lock()
        self._arrived: deque[Arrival] = deque()
        self._abandoned = False

    @property
    def wanted(self) -> bool:
        return not self._abandoned

    # On a thread of the fetcher

    def expect(self, seconds: float) -> None:
        """The next news may take so long."""
        self.patience_s = seconds
        self.news.set()

    def put(self, arrival: Arrival) -> None:
        """The next block of the chain."""
        with self._lock:
            if self.wanted:
                self._arrived.append(arrival)
                self.news.set()
                return
        self._open.give_back(arrival.decompressor)

    def end(self) -> None:
        self.ended = True
        self.news.set()

    # On the engine's thread

    def take(self) -> Arrival | None:
        """The next block that has come, to be given back."""
        with self._lock:
            return self._arrived.popleft() if self._arrived else None

    def give_back(self, arrival: Arrival) -> None:
        self._open.give_back(arrival.decompressor)

    @property
    def over(self) -> bool:
        """Whether there is nothing to wait for."""
        with self._lock:
            return self.ended and not self._arrived

    def abandon(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self._abandoned = True
            left = list(self._arrived)
            self._arrived.clear()
        for arrival in left:
            self.give_back(arrival)
        self._open.look_again()
