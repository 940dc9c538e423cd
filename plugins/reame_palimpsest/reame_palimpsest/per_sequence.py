"""What is known about sequences under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

State = TypeVar("State")

MOST = 256
"""More sequences are never under way at the same time; some end without a word, by an error."""


class PerSequence(Generic[State]):
    """States by the number of their sequence; those that were not used for long are dropped."""

    def __init__(self) -> None:
        self._states: dict[int, State] = {}

    def __len__(self) -> int:
        return len(self._states)

    def get(self, sequence: int, make: Callable[[], State]) -> State:
        """The state of ``sequence``, made when it is asked for first."""
        state = self._states.pop(sequence, None)
        if state is None:
            state = make()
            if len(self._states) >= MOST:
                del self._states[next(iter(self._states))]
        self._states[sequence] = state
        return state

    def pop(self, sequence: int) -> State | None:
        """The state of a sequence that has ended, for the last time."""
        return self._states.pop(sequence, None)
