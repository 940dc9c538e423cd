"""What the engine tells the owner of a request, in order; each event concerns one choice of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FinishReason = Literal["stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """The log-probability of one delivered token under the model itself (before bias, penalties and
    temperature), with the most probable alternatives at its place."""

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


@dataclass(slots=True)
class Decisions:
    """What was decided about the drafts of one source."""

    asked: int = 0
    """Times that it was asked for a draft."""
    paid: int = 0
    """Drafts that were given rows."""
    unpaid: int = 0
    """Drafts that did not promise enough for a row."""
    milliseconds: float = 0.0
    """Spent on asking."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Where the tokens of one choice came from. ``prompt = computed + sum(reused.values())``."""

    prompt: int
    completion: int
    computed: int
    """Prompt tokens that had to be computed."""
    reused: dict[str, int] = field(default_factory=dict)
    """Prompt tokens remembered instead, by tier: ``ram``, or the name of the plugin that restored them."""
    drafts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """(drafted, accepted) tokens by source."""
    decisions: dict[str, Decisions] = field(default_factory=dict)
    """About drafts, by source."""

    @property
    def drafted(self) -> int:
        return sum(drafted for drafted, _ in self.drafts.values())

    @property
    def accepted(self) -> int:
        return sum(accepted for _, accepted in self.drafts.values())


@dataclass(frozen=True, slots=True)
class Timings:
    """Wall-clock milliseconds of one choice."""

    queued: float
    """From submission to admission."""
    prefill: float
    """From admission to the first generated token."""
    decode: float
    """From the first generated token to the last."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of a choice: whole characters, no part of a stop text. ``tokens`` are those whose text is
    now delivered completely; ``text`` may be empty (a control token) and ``tokens`` too (never both)."""

    choice: int
    text: str
    tokens: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """Whose memory an answer comes from."""

    plugin: str
    note: object = None
    """What the plugin says about it, a JSON value."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """For the response, as the plugin wishes."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of a choice that ended well."""

    choice: int
    reason: FinishReason
    usage: Usage
    timings: Timings
    stopped_by: str | int | None = None
    """The stop text or the token that ended it."""
    recalled: Recalled | None = None
    """Where nothing was computed, because a plugin knew the answer."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The last event of a choice that ended badly."""

    choice: int
    error: Exception


@dataclass(frozen=True, slots=True)
class Won:
    """The ``select_winner`` hook chose this choice, which has ended; all others end as well."""

    choice: int


Event = TextDelta | Finished | Failed | Won
