"""Answers that need not be computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reame_core.engine.events import FinishReason, TextDelta
    from reame_core.engine.request import Request


@dataclass(frozen=True, slots=True)
class LastMessage:
    """What the user of a chat has said last, apart from everything else in the prompt."""

    text: str
    rest: tuple[int, ...]
    """The prompt's tokens with a fixed text in its place: equal for prompts that differ in ``text`` alone."""


def _no_message() -> LastMessage | None:
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A request on its way to the engine, with everything that decides its answer. Each is an object of its own
    and equal to no other."""

    request: Request
    room: int
    """Most tokens that each choice may have, by ``max_tokens`` and by what the context leaves."""
    exact: bool
    """Whether the engine computes in exact mode, see docs/architecture.md."""
    fields: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """What the client asked of plugins: by plugin, the fields that it serves. A constraint, say, is decided by
    them."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of these plugins."""
    last_message: Callable[[], LastMessage | None] = _no_message
    """Computes it, in about the time that the prompt took; any thread may call it. None where the prompt is no
    chat, or one whose last message is not the user's."""
    endpoint: str = ""
    """Where plugins were asked, "chat" or "completions": what they make of a field may depend on it."""


@dataclass(frozen=True, slots=True)
class AnsweredChoice:
    """One whole choice of an answer."""

    deltas: Sequence[TextDelta]
    """As they were delivered; their ``choice`` does not matter."""
    reason: FinishReason
    completion: int
    """Tokens generated, those of the end and of a stop text included."""
    stopped_by: str | int | None = None


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """All choices of an answer that need not be computed."""

    choices: Sequence[AnsweredChoice]
    note: object = None
    """A JSON value, for ``reame.plugins.NAME`` in the response."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of the response, streamed or not. Their names begin with ``x-reame-``, others are left out."""


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Somebody else computes this answer: ask again in so many seconds."""

    seconds: float
