"""A constraint in a few lines: letters and digits in turns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_LENGTH = 16


class Alternating:
    """A letter, a digit, a letter and so on, sixteen in all. Single bytes of a vocabulary whose first tokens
    are the bytes themselves."""

    def __init__(self, vocabulary_size: int, bytes_at: dict[int, int] | None = None) -> None:
        self._size = vocabulary_size
        self._at = bytes_at or {byte: byte for byte in range(256)}
        self._said: list[int] = []

    @property
    def complete(self) -> bool:
        return len(self._said) == _LENGTH

    def _allowed(self, position: int) -> set[int]:
        kinds = b"0123456789" if position % 2 else b"abcdefghijklmnopqrstuvwxyz"
        return {self._at[byte] for byte in kinds}

    def fill_mask(self, mask: NDArray[np.uint32]) -> None:
        mask[:] = 0
        for token in self._allowed(len(self._said)):
            mask[token // 32] |= np.uint32(1 << token % 32)

    def accept(self, token: int) -> None:
        assert token in self._allowed(len(self._said))
        self._said.append(token)

    def rollback(self, count: int) -> None:
        del self._said[len(self._said) - count :]

    def count_allowed(self, tokens: Sequence[int]) -> int:
        allowed = 0
        for offset, token in enumerate(tokens):
            position = len(self._said) + offset
            if position >= _LENGTH or token not in self._allowed(position):
                break
            allowed += 1
        return allowed
