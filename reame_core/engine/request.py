"""What a caller asks of the engine, in tokens. Checked when it is made: the engine never meets bad values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reame_core.errors import InvalidRequest

if TYPE_CHECKING:
    from reame_core.plugins.api import ConstraintMaker

MAX_CHOICES = 128
MAX_STOPS = 32
"""Those of whoever asks and those of a chat template together."""
MAX_TOP_LOGPROBS = 20


def _number(name: str, value: object, low: float, high: float, *, low_open: bool = False) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidRequest(f"{name} must be a finite number, not {value!r}", param=name)
    if value < low or value > high or (low_open and value == low):
        left = "more than" if low_open else "from"
        joint = "and at most" if low_open else "to"
        raise InvalidRequest(f"{name} must be {left} {low:g} {joint} {high:g}, not {value!r}", param=name)


def _whole(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidRequest(f"{name} must be a whole number, not {value!r}", param=name)
    if not low <= value <= high:
        raise InvalidRequest(f"{name} must be from {low} to {high}, not {value}", param=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How the next token is chosen from the logits; the order of the fields is the order of application.

    ``temperature`` 0 is greedy: the most probable token, after bias and penalties.
    """

    logit_bias: Mapping[int, float] = field(default_factory=dict)
    """Added to the logits of single tokens, -100 to 100."""
    repeat_penalty: float = 1.0
    """Divides positive logits (multiplies negative ones) of the last ``repeat_window`` tokens."""
    repeat_window: int = 64
    presence_penalty: float = 0.0
    """Subtracted once from each token that was generated before, -2 to 2."""
    frequency_penalty: float = 0.0
    """Subtracted once per earlier generation of the token, -2 to 2."""
    temperature: float = 0.0
    top_k: int = 0
    """Keep the k most probable tokens; 0 keeps all."""
    top_p: float = 1.0
    """Keep the smallest set of most probable tokens that holds this much probability."""
    min_p: float = 0.0
    """Keep tokens at least this fraction as probable as the most probable one."""
    seed: int | None = None
    """Same seed, same request, same answer. None draws a new seed for each choice."""

    def __post_init__(self) -> None:
        for token, bias in self.logit_bias.items():
            if isinstance(token, bool) or not isinstance(token, int) or token < 0:
                raise InvalidRequest(f"logit_bias: {token!r} is not a token id", param="logit_bias")
            _number("logit_bias", bias, -100, 100)
        _number("repeat_penalty", self.repeat_penalty, 0, 10, low_open=True)
        _whole("repeat_window", self.repeat_window, 0, 1 << 20)
        _number("presence_penalty", self.presence_penalty, -2, 2)
        _number("frequency_penalty", self.frequency_penalty, -2, 2)
        _number("temperature", self.temperature, 0, 100)
        _whole("top_k", self.top_k, 0, 1 << 31)
        _number("top_p", self.top_p, 0, 1, low_open=True)
        _number("min_p", self.min_p, 0, 1)
        if self.seed is not None:
            _whole("seed", self.seed, -(1 << 63), (1 << 64) - 1)

    @property
    def plain_greedy(self) -> bool:
        """Whether the next token is just the argmax of the raw logits."""
        return (
            self.temperature == 0
            and not self.logit_bias
            and self.repeat_penalty == 1
            and self.presence_penalty == 0
            and self.frequency_penalty == 0
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One prompt and what to do with it. ``n`` choices share its prefill."""

    prompt: tuple[int, ...]
    """Token ids, beginning token included where the model wants one."""
    max_tokens: int | None = None
    """Most tokens to generate for each choice; None goes on to the end of the context."""
    n: int = 1
    sampling: SamplingParams = SamplingParams()
    sampling_by_choice: tuple[SamplingParams, ...] = ()
    """How each of the ``n`` choices is sampled, where that differs; empty for all like ``sampling``."""
    stop: tuple[str, ...] = ()
    """Texts that end the generation; the text itself is never delivered."""
    stop_tokens: frozenset[int] = frozenset()
    """Tokens that end the generation besides the model's own end tokens."""
    ignore_end: bool = False
    """Go on after the model's own end tokens (benchmarks)."""
    logprobs: int | None = None
    """None for no log-probabilities; else how many alternatives to give with each token (0 to 20)."""
    reuse: bool = True
    """False computes the whole prompt, whatever is remembered of it."""
    speculate: bool = True
    """False asks no plugin for drafts."""
    select: bool = False
    """Ask the ``select_winner`` hook whenever a choice ends; a winner stops the others."""
    wave: int | None = None
    """Start so many choices, and as many more when these have ended and none has won; None starts all."""
    background: bool = False
    """Computed only while nobody else is there: it is put away as soon as another request comes."""
    constraint: ConstraintMaker | None = None
    """Makes for each choice what says which tokens may come; None for any token."""
    tenant: str = ""
    """Whoever shares this string shares remembered prefixes; others never see them."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """For plugins: fields of theirs in the request, by plugin name."""

    def __post_init__(self) -> None:
        if not self.prompt:
            raise InvalidRequest("the prompt is empty: give at least one token of text", param="prompt")
        if self.max_tokens is not None:
            _whole("max_tokens", self.max_tokens, 1, 1 << 31)
        _whole("n", self.n, 1, MAX_CHOICES)
        if self.wave is not None:
            _whole("wave", self.wave, 1, MAX_CHOICES)
        if self.sampling_by_choice and len(self.sampling_by_choice) != self.n:
            raise InvalidRequest(
                f"{len(self.sampling_by_choice)} ways of sampling are given for {self.n} choices", param="n"
            )
        if len(self.stop) > MAX_STOPS:
            raise InvalidRequest(
                f"stop has {len(self.stop)} texts, at most {MAX_STOPS} are possible", param="stop"
            )
        if not all(self.stop):
            raise InvalidRequest("stop holds an empty text, which would end every answer at once", param="stop")
        if self.logprobs is not None:
            _whole("logprobs", self.logprobs, 0, MAX_TOP_LOGPROBS)
