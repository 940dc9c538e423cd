"""The index of one tenant, as far as this server has read it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import time
from typing import TYPE_CHECKING

from reame_arca.similar.entry import FIELD, LARGEST_VALUE, Entry, from_message, to_message
from reame_arca.similar.vectors import Vectors
from reame_arca.stream import BEGINNING, read_page

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reame_arca.connection import Client
    from reame_arca.sealing import Space

PAGE = 256
"""Entries that are read at once: a few hundred kilobytes."""


class Mirror:
    """``space`` is the tenant's. The index is a stream of about ``most`` entries at most, which is gone when
    nothing was added for ``ttl_s``; entries of that age are not used. ``now`` tells seconds since 1970. For any
    thread; ``read`` leaves the work to whoever does it already."""

    def __init__(
        self, space: Space, dimension: int, most: int, ttl_s: float, now: Callable[[], float] = time
    ) -> None:
        self._space = space
        self._stream = space.name(b"questions")
        self._dimension = dimension
        self._most = most
        self._ttl = ttl_s
        self._now = now
        self._position = BEGINNING
        self._vectors = Vectors(most)
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self.damaged = 0
        """Entries that were none of ours."""

    def __len__(self) -> int:
        return len(self._vectors)

    def has(self, rest: bytes) -> bool:
        """Whether there is anything to compare with."""
        with self._lock:
            return self._vectors.has(rest)

    def nearest(
        self, rest: bytes, vector: NDArray[np.float32], least: float, count: int
    ) -> list[tuple[float, Entry]]:
        """(cosine, entry), nearest first, ``count`` at most."""
        oldest = self._now() - self._ttl
        with self._lock:
            found = self._vectors.nearest(rest, vector, least)
            fresh = (each for each in found if each[1].made_at >= oldest)
            return [each for each, _ in zip(fresh, range(count), strict=False)]

    def forget(self, entry: Entry) -> None:
        """Its answer is not there any more."""
        with self._lock:
            self._vectors.remove(entry)

    def read(self, client: Client) -> bool:
        """Read what is new, a page of it; whether there is more. Raises what the client raises."""
        if not self._reading.acquire(blocking=False):
            return False
        try:
            page = read_page(client, self._stream, self._position, PAGE, FIELD, LARGEST_VALUE)
            with self._lock:
                if _order(page.newest) < _order(self._position):
                    # The store has lost it, or begun anew.
                    self._vectors.clear()
                    self._position = BEGINNING
                    return page.newest != BEGINNING
                for each in page.entries:
                    self._add(each.value)
                    self._position = each.id
            return len(page.entries) == PAGE
        finally:
            self._reading.release()

    def write(self, client: Client, entry: Entry, vector: NDArray[np.float32]) -> None:
        """Raises what the client raises."""
        fields = to_message(self._space, self._stream, entry, vector)
        with client.pipeline(transaction=False) as pipe:
            pipe.xadd(self._stream, fields, maxlen=self._most, approximate=True)
            pipe.pexpire(self._stream, max(1, int(1000 * self._ttl)))
            pipe.execute()

    def _add(self, value: bytes) -> None:
        found = from_message(self._space, self._stream, value, self._dimension)
        if found is None:
            self.damaged += 1
        elif found[0].made_at >= self._now() - self._ttl:
            self._vectors.add(*found)


def _order(entry: str) -> tuple[int, int]:
    milliseconds, _, number = entry.partition("-")
    return int(milliseconds), int(number)
