"""Answers that are being computed: of several requests for the same one computes, and the others wait."""

from __future__ import annotations

import threading
from collections.abc import Hashable


class UnderWay:
    """Who computes what. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._computing: dict[bytes, Hashable] = {}

    def begin(self, key: bytes, who: Hashable) -> bool:
        """Whether ``who`` is to compute ``key``: nobody else does."""
        with self._lock:
            return self._computing.setdefault(key, who) == who

    def is_elsewhere(self, key: bytes, who: Hashable) -> bool:
        """Whether somebody else computes ``key``."""
        return self._computing.get(key, who) != who

    def end(self, key: bytes, who: Hashable) -> None:
        """``who``, who may not have been the one, does not compute ``key`` any more."""
        with self._lock:
            if self._computing.get(key) == who:
                del self._computing[key]

    def __len__(self) -> int:
        return len(self._computing)
