"""Vectors in memory, by what their questions have in common; the oldest make room."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reame_arca.similar.entry import Entry

Key = tuple[bytes, str]


class Vectors:
    """At most ``limit`` entries with vectors of length 1. Of two with the same rest and text the newer counts.
    For one thread at a time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[Key, tuple[Entry, NDArray[np.float32]]] = OrderedDict()
        self._by_rest: dict[bytes, dict[Key, None]] = {}
        self._stacked: dict[bytes, tuple[list[Entry], NDArray[np.float32]]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: Entry, vector: NDArray[np.float32]) -> None:
        self.remove(entry)
        key = (entry.rest, entry.text)
        self._entries[key] = entry, vector
        self._by_rest.setdefault(entry.rest, {})[key] = None
        self._stacked.pop(entry.rest, None)
        if len(self._entries) > self._limit:
            self.remove(next(iter(self._entries.values()))[0])

    def remove(self, entry: Entry) -> None:
        """Whether it is there or not."""
        key = (entry.rest, entry.text)
        if self._entries.pop(key, None) is None:
            return
        group = self._by_rest[entry.rest]
        del group[key]
        if not group:
            del self._by_rest[entry.rest]
        self._stacked.pop(entry.rest, None)

    def clear(self) -> None:
        self._entries.clear()
        self._by_rest.clear()
        self._stacked.clear()

    def has(self, rest: bytes) -> bool:
        """Whether there is anything to compare with."""
        return rest in self._by_rest

    def nearest(self, rest: bytes, vector: NDArray[np.float32], least: float) -> Iterator[tuple[float, Entry]]:
        """(cosine, entry) of those with this ``rest`` whose cosine is at least ``least``, nearest first."""
        entries, matrix = self._stack(rest)
        if not entries:
            return
        cosines = matrix @ vector
        for index in np.argsort(-cosines, kind="stable"):
            if not cosines[index] >= least:
                return
            yield float(cosines[index]), entries[index]

    def _stack(self, rest: bytes) -> tuple[list[Entry], NDArray[np.float32]]:
        found = self._stacked.get(rest)
        if found is None:
            group = [self._entries[key] for key in self._by_rest.get(rest, ())]
            matrix = np.stack([vector for _, vector in group]) if group else np.zeros((0, 0), np.float32)
            found = [entry for entry, _ in group], matrix
            if group:
                self._stacked[rest] = found
        return found
