"""A constraint in a few lines: letters and digits in turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase, digits

import numpy as np
from numpy.typing import NDArray

LENGTH = 8


class Alternating:
    """A letter, a digit, a letter and so on; ``tokens`` has the token of each character."""

    def __init__(self, tokens: Mapping[str, int]) -> None:
        self._letters = {tokens[each] for each in ascii_lowercase}
        self._digits = {tokens[each] for each in digits}
        self._said: list[int] = []

    @property
    def complete(self) -> bool:
        return len(self._said) == LENGTH

    def _allowed(self, position: int) -> set[int]:
        return self._digits if position % 2 else self._letters

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
            if position >= LENGTH or token not in self._allowed(position):
                break
            allowed += 1
        return allowed
