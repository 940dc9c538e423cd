"""A fake backend whose cells are as large as a real model's."""

from __future__ import annotations

from typing import Any

import numpy as np

from reame_core.testing import FakeBackend


class PaddedBackend(FakeBackend):
    """Each exported cell has ``pad`` more bytes, which say nothing."""

    def __init__(self, *, pad: int, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._pad = pad
        self._noise = np.random.default_rng(0).bytes(pad)

    def export_range(self, sequence: int, start: int, end: int) -> bytes:
        state = super().export_range(sequence, start, end)
        return len(state).to_bytes(8, "little") + state + self._noise * (end - start)

    def import_range(
        self, sequence: int, start: int, end: int, state: bytes | memoryview, keep: int | None = None
    ) -> bool:
        size = int.from_bytes(bytes(state[:8]), "little")
        if len(state) != 8 + size + self._pad * (end - start):
            return False
        return super().import_range(sequence, start, end, bytes(state[8 : 8 + size]), keep)
