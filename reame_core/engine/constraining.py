"""Between the engine and the constraint of one choice: masks on the logits, drafts cut to what is allowed.

A constrained request is never continued without its constraint: whatever goes wrong with it is an EngineError,
which fails the sequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Many
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.request import Request
from reame_core.errors import EngineError
from reame_core.plugins.api import Constraint, Draft

Lines = NDArray[np.float32]


class Constrained:
    """One choice's ``constraint`` over a vocabulary of ``size`` tokens; ``end_tokens`` end an answer."""

    def __init__(self, constraint: Constraint, size: int, end_tokens: frozenset[int]) -> None:
        self.constraint = constraint
        self._size = size
        self._end_tokens = end_tokens
        self._mask = np.zeros((size + 31) // 32, np.uint32)

    @property
    def complete(self) -> bool:
        """Whether the answer has to end here."""
        with _failing_clearly():
            return self.constraint.complete

    def accept(self, token: int) -> None:
        """``token`` is the next one of the answer."""
        with _failing_clearly():
            self.constraint.accept(token)

    def cut(self, draft: Draft) -> Draft:
        """The beginning of ``draft`` that is allowed. A draft drawn from distributions keeps its first
        forbidden token: to leave it out because of what was drawn would change how answers are distributed."""
        with _failing_clearly():
            allowed = self.constraint.count_allowed(draft.tokens)
        return draft.shortened(allowed if draft.distributions is None else allowed + 1)

    def masked(self, lines: Lines, drafted: Many[int]) -> Lines:
        """A copy of ``lines`` (1 + drafted, vocabulary) in which forbidden tokens have minus infinity. Lines
        behind the end of the answer or a forbidden drafted token stay as they are; nobody needs them."""
        masked = lines.copy()
        taken = 0
        with _failing_clearly():
            for index, line in enumerate(masked):
                allowed = self._allowed()
                line[~allowed] = -np.inf
                token = drafted[index] if index < len(drafted) else None
                if token is None or token in self._end_tokens or not allowed[token]:
                    break
                self.constraint.accept(token)
                taken += 1
                if self.constraint.complete:
                    break
            self.constraint.rollback(taken)
        return masked

    def _allowed(self) -> NDArray[np.bool_]:
        """(vocabulary,) the tokens that may come next."""
        self.constraint.fill_mask(self._mask)
        bits = np.unpackbits(self._mask.view(np.uint8), bitorder="little")[: self._size].view(np.bool_)
        if not bits.any():
            raise RuntimeError("it allows no token at all")
        return bits


def constraints_of(
    request: Request, choices: int, size: int, end_tokens: frozenset[int]
) -> list[Constrained] | list[None]:
    """One for each choice of ``request``, or None each where it has no constraint. Raises EngineError."""
    make = request.constraint
    if make is None:
        return [None] * choices
    with _failing_clearly():
        return [Constrained(make(request.prompt), size, end_tokens) for _ in range(choices)]


@contextmanager
def _failing_clearly() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise EngineError(f"the constraint on this answer failed: {reason}") from error
