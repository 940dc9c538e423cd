"""What a plugin is given and what it answers: the types of the hooks' arguments and results.

Everything here is public and stable within 0.x minor versions. A plugin imports ``reame_core`` (for
``hookimpl`` and these types) and nothing below ``reame_core.engine``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from reame_core.engine.backend import ModelInfo
    from reame_core.engine.request import Request


class SequenceView(Protocol):
    """One sequence of tokens under way. Read only; valid during the hook call."""

    @property
    def id(self) -> int:
        """Unique in this process."""
        ...

    @property
    def request(self) -> Request: ...

    @property
    def choice(self) -> int:
        """Which of the request's ``n`` choices this is."""
        ...

    @property
    def tokens(self) -> NDArray[np.int32]:
        """(known,) prompt and generated tokens so far; a view, do not keep it."""
        ...

    @property
    def prompt_length(self) -> int: ...

    @property
    def computed(self) -> int:
        """How many of ``tokens`` are in the KV memory."""
        ...

    @property
    def room(self) -> int:
        """How many more tokens this sequence may generate."""
        ...


class KVAccess(Protocol):
    """One sequence's cells, for the duration of a hook call."""

    @property
    def length(self) -> int:
        """Positions [0, length) are in memory."""
        ...

    def export(self, start: int, end: int) -> bytes:
        """The cells of positions [start, end), end <= length. Copies; about 1 ms for 10 MB."""
        ...

    def restore(self, end: int, state: bytes) -> bool:
        """Append the exported cells of positions [length, end). False where they do not fit this model or
        this memory; nothing is changed then. Verify your checksum first: damaged bytes must not get here.
        Only ``on_prefill`` may call it, and ``end`` must stay below the prompt's length."""
        ...


@dataclass(frozen=True, slots=True)
class Draft:
    """A guess at the next tokens."""

    tokens: Sequence[int]
    """Tokens expected after ``sequence.tokens``, best first position first."""
    probabilities: Sequence[float] | None = None
    """For drafts *sampled* from a distribution: the probability with which each token was drawn, together
    with ``distributions``. None for a draft that was looked up."""
    distributions: NDArray[np.float32] | None = None
    """(len(tokens), vocabulary) the whole distribution each token was drawn from; needed with
    ``probabilities`` to resample a rejected token from the residual."""
    confidence: float | None = None
    """What the source believes about the first token, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a draft."""

    accepted: int
    """How many drafted tokens are kept."""
    next_token: int
    """The token after them, chosen from the target's own logits."""


class TokenChooser(Protocol):
    """The request's sampler, as the verifier sees it."""

    def choose(self, logits: NDArray[np.float32]) -> int:
        """The next token for one line of logits (vocabulary,), greedy or drawn with the request's own
        random numbers. Call ``accept`` before the next line."""
        ...

    def probabilities(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """(vocabulary,) the distribution ``choose`` draws from."""
        ...

    def accept(self, token: int) -> None:
        """Take ``token`` as the next one: penalties count it from now on."""
        ...

    def uniform(self) -> float:
        """One random number from [0, 1) of the request's own generator."""
        ...

    def draw(self, weights: NDArray[np.float32]) -> int:
        """A token drawn with probabilities proportional to ``weights`` (vocabulary,)."""
        ...


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


@dataclass(frozen=True, slots=True)
class Group:
    """All choices of one request with ``select``."""

    request: Request
    candidates: tuple[Candidate, ...]


class Stage(Enum):
    """Why ``persist`` is called."""

    PREFIX = "prefix"
    """The whole prompt is in memory now."""
    END = "end"
    """The generation has ended; all but the last token are in memory."""


@dataclass(frozen=True, slots=True)
class PluginContext:
    """What a plugin is told when the engine starts."""

    model: ModelInfo
    options: Mapping[str, object]
    """The plugin's own table ``[plugins.NAME]`` of the configuration, unchecked."""
    namespace: Mapping[str, str] = field(default_factory=dict)
    """Everything that changes the contents of KV cells: model fingerprint, cache types, build."""
