"""A constraint in one function, for tests of the engine and of plugins that meet constrained requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

Rule = Callable[[tuple[int, ...]], Collection[int]]


class RuleConstraint:
    """``rule`` takes the tokens of the answer so far and gives those that may come next, end tokens among them
    where the answer may end; none where it has to end."""

    def __init__(self, rule: Rule, end_tokens: Collection[int] = ()) -> None:
        self._rule = rule
        self._end_tokens = frozenset(end_tokens)
        self.accepted: list[int] = []
        self.masks = 0
        """How many were asked for."""

    @property
    def complete(self) -> bool:
        return not self._rule(tuple(self.accepted))

    def fill_mask(self, mask: NDArray[np.uint32]) -> None:
        self.masks += 1
        mask[:] = 0
        for token in self._rule(tuple(self.accepted)):
            mask[token // 32] |= np.uint32(1 << (token % 32))

    def accept(self, token: int) -> None:
        if token not in self._rule(tuple(self.accepted)) or token in self._end_tokens:
            raise AssertionError(f"token {token} was accepted after {self.accepted}")
        self.accepted.append(token)

    def rollback(self, count: int) -> None:
        if count > len(self.accepted):
            raise AssertionError(f"{count} tokens are to be taken back, {len(self.accepted)} were accepted")
        del self.accepted[len(self.accepted) - count :]

    def count_allowed(self, tokens: Sequence[int]) -> int:
        said = tuple(self.accepted)
        for count, token in enumerate(tokens):
            if token not in self._rule(said):
                return count
            if token in self._end_tokens:
                return count + 1
            said = (*said, token)
        return len(tokens)
