"""Memory that is used for one block after another: fresh memory costs as much as what is done in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STEP = 4 << 20
"""Bytes. From this size on numpy asks for huge pages, which are had several times as fast."""


class Scratch:
    """Grows as needed. What it gives is valid until it is asked again; for one thread at a time."""

    def __init__(self) -> None:
        self._memory = np.empty(0, np.uint8)

    def of(self, size: int) -> NDArray[np.uint8]:
        """(size,) bytes with any contents."""
        if len(self._memory) < size:
            self._memory = np.empty(-(-size // _STEP) * _STEP, np.uint8)
        return self._memory[:size]

    def reserve(self, size: int) -> None:
        """Get so many bytes now rather than when they are needed."""
        self.of(size).fill(0)
