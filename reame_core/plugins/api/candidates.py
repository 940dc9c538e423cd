"""The choices of a request that asks for a winner."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reame_core.engine.request import Request


class CandidateState(Enum):
    """How far a candidate of a group is."""

    RUNNING = "running"
    ENDED = "ended"
    TRUNCATED = "truncated"
    """Ended by ``max_tokens`` or the context."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One choice of a request that asks for a winner."""

    choice: int
    state: CandidateState
    text: str
    tokens: int
    logprob: float
    """Sum of the log-probabilities of its tokens under the model."""
    place: int | None = None
    """How many of the group's candidates ended in earlier steps than it; None while it has not ended."""


@dataclass(frozen=True, slots=True)
class Group:
    """All choices of one request with ``select``."""

    request: Request
    candidates: tuple[Candidate, ...]
