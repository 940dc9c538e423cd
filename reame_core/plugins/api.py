"""What a plugin is given and what it answers: the types of the hooks' arguments and results.

Everything here is public and stable within 0.x minor versions. A plugin imports ``reame_core`` (for
``hookimpl`` and these types) and nothing below ``reame_core.engine``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from reame_core.engine.backend import Backend as Backend
from reame_core.engine.backend import ModelInfo as ModelInfo
from reame_core.engine.backend import Rows as Rows
from reame_core.errors import PluginError
from reame_core.plugins.offers import Offers as Offers

if TYPE_CHECKING:
    import threading

    import numpy as np
    from numpy.typing import NDArray

    from reame_core.engine.batch_cost import BatchCost
    from reame_core.engine.events import Event, FinishReason, TextDelta
    from reame_core.engine.request import Request, SamplingParams

T = TypeVar("T")


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
    def constraint(self) -> Constraint | None:
        """What says which tokens may come: the object that ``FieldService.constraint`` has made for this
        choice, at the state behind ``tokens``. To be asked, not to be moved."""
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

    def chooser(self) -> TokenChooser:
        """A copy of the request's sampler at the newest token, for drafts: with random numbers of its own, for
        a draft that is drawn by those of the verifier would not be independent of the verdict."""
        ...


class Constraint(Protocol):
    """Which tokens may come next in one choice of a request, as far as it has come. For the engine thread.
    Whatever a method raises fails the choice: nothing is ever generated without its constraint."""

    @property
    def complete(self) -> bool:
        """Whether nothing can follow: the answer ends here, without an end token."""
        ...

    def fill_mask(self, mask: NDArray[np.uint32]) -> None:
        """Write every word of ``mask`` (ceil(vocabulary / 32),): bit t % 32 of word t // 32 says whether
        token t may come next. End tokens may where the answer may end; at least one token always may. It is
        asked for at every step of every constrained answer: keep it below half a millisecond."""
        ...

    def accept(self, token: int) -> None:
        """Go on to the state behind ``token``, which is allowed and no end token."""
        ...

    def rollback(self, count: int) -> None:
        """Go back by the latest ``count`` tokens that were accepted."""
        ...

    def count_allowed(self, tokens: Sequence[int]) -> int:
        """How many of ``tokens``, from the first one on, may come one after another; none behind an end
        token. The state stays as it is."""
        ...


ConstraintMaker = Callable[[Sequence[int]], Constraint]
"""Makes the constraint of one choice, at its beginning, behind a prompt of these tokens. Called on the engine
thread for each choice: compile beforehand."""


class KVAccess(Protocol):
    """One sequence's cells, for the duration of a hook call."""

    @property
    def length(self) -> int:
        """Positions [0, length) are in memory."""
        ...

    def export(self, start: int, end: int) -> bytes:
        """The cells of positions [start, end), end <= length. Copies; about 1 ms for 10 MB."""
        ...

    def restore(self, end: int, state: bytes | memoryview, keep: int | None = None) -> bool:
        """Append the exported cells of positions [length, end), or only those below ``keep``. False where
        they do not fit this model or this memory; nothing is changed then. Verify your checksum first: damaged
        bytes must not get here. Only ``on_prefill`` may call it, and what is kept must stay below the prompt's
        length."""
        ...

    def cut(self, length: int) -> bool:
        """Keep only positions [0, length), to restore more than that from there on. False, with nothing
        changed, where the model cannot or where memory has no room to compute again what is shared now. Only
        ``on_prefill`` may call it."""
        ...

    @property
    def seconds(self) -> float:
        """How long this call of ``on_prefill`` may take before it delays other users; 0 in other hooks."""
        ...

    def go_on_later(self) -> None:
        """Have ``on_prefill`` called again for this sequence, behind the others' next batch. Only where this
        call has restored something and answers how much."""
        ...

    def wait_for(self, event: threading.Event, seconds: float) -> None:
        """Have ``on_prefill`` called again for this sequence once ``event`` is set, or after so many seconds:
        for what comes from elsewhere. Others are computed meanwhile, this sequence is not, and so it should be
        known to be worth it. Whatever this call answers. Without restoring anything in between a sequence waits
        for no more than a second in all."""
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
    ``probabilities`` to resample a rejected token from the residual.

    The arithmetic takes for granted that every token that is drawn is verified. A source may stop *before* it
    draws, by what the distribution looks like, but must not drop tokens, or whole drafts, by what was drawn: in
    place of those it drops the target draws anew, so that those it keeps would come too often."""
    confidence: float | None = None
    """What the source believes about each token, 0 to 1."""
    match_length: int | None = None
    """For drafts that were looked up: how many of the latest tokens led there. Drafts with longer matches are
    judged apart from those with shorter ones."""
    label: str = ""
    """What the draft was made of, for sources that make drafts in several ways: how often each way is right is
    learned apart. A fixed set of few names."""

    def shortened(self, length: int) -> Draft:
        """The first ``length`` tokens of this draft."""
        if length >= len(self.tokens):
            return self
        return Draft(
            self.tokens[:length],
            None if self.probabilities is None else self.probabilities[:length],
            None if self.distributions is None else self.distributions[:length],
            self.confidence,
            self.match_length,
            self.label,
        )


@dataclass(frozen=True, slots=True)
class DraftWish:
    """A sequence for which a computed draft would be welcome."""

    sequence: SequenceView
    limit: int
    """Tokens that would be verified; none beyond."""
    drawn: bool = False
    """Whether the draft may be *drawn*, with ``Draft.distributions``: the request samples, and no seed promises
    the very answer it would have without drafts. ``sequence.chooser()`` draws as the request does."""


@dataclass(frozen=True, slots=True)
class DraftPrice:
    """What computed drafts would cost, in milliseconds of the engine thread."""

    per_token: float
    """For one more token of every draft that was wished for."""
    catch_up: float = 0.0
    """Before that, once: to read what is new of the sequences."""
    most: int = 64
    """Tokens that a draft may have."""

    @property
    def is_sound(self) -> bool:
        """Whether these can be prices."""
        return 0 < self.per_token < math.inf and 0 <= self.catch_up < math.inf and self.most >= 1


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

    def confirm(self, logits: NDArray[np.float32], drafted: int) -> int:
        """As ``choose``, but where the request is greedy and ``drafted`` is as good as the best token within
        the measured noise of this host's kernels, it is the one."""
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
    place: int | None = None
    """How many of the group's candidates ended in earlier steps than it; None while it has not ended."""


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
class SecondModel:
    """A model beside the one that is served, with a KV memory of its own. It belongs to the engine thread, and
    the core closes it after ``shutdown``."""

    backend: Backend
    tokenizer: str
    """See ``PluginContext.tokenizer``."""
    cost: BatchCost
    """Milliseconds by rows of a batch of ``backend``, as measured on this host; tell it what batches took."""


class ModelOpener(Protocol):
    """Loads the model that ``model`` names: a path, or a name of the catalogue. ``threads`` None takes as many
    as the served model has. Raises a UsageError where it cannot be loaded or does not fit in memory."""

    def __call__(
        self, model: str, *, cells: int | None = None, sequences: int = 16, threads: int | None = None
    ) -> SecondModel:
        """With ``cells`` of KV memory, by default as many as the served model has, for ``sequences``."""
        ...


def _no_second_model(
    model: str, *, cells: int | None = None, sequences: int = 16, threads: int | None = None
) -> SecondModel:
    raise PluginError("there is no way to load a second model here")


@dataclass(frozen=True, slots=True)
class PluginContext:
    """What a plugin is told when the engine starts."""

    model: ModelInfo
    options: Mapping[str, object]
    """The plugin's own table ``[plugins.NAME]`` of the configuration, unchecked."""
    namespace: Mapping[str, str] = field(default_factory=dict)
    """Everything that changes the contents of KV cells: model fingerprint, cache types, build."""
    tokenizer: str = ""
    """Stands for what each token id means: equal for models with the same vocabulary, whatever their weights.
    Empty where that is not known."""
    piece: Callable[[int], bytes] = bytes
    """The bytes that a token adds to a text. Any thread may call it."""
    tokenize: Callable[[str], Sequence[int]] = lambda text: ()
    """The tokens of a text, none of them a control token. Any thread may call it."""
    open_model: ModelOpener = _no_second_model
    """Loads a second model, for ``startup``."""
    offers: Offers = field(default_factory=Offers)
    """What the plugins of this engine offer each other, for ``startup``."""


class ServerAccess(Protocol):
    """The HTTP server, as route handlers of plugins use it. All methods are for its event loop."""

    @property
    def model(self) -> ModelInfo: ...

    @property
    def context_length(self) -> int:
        """Tokens one sequence can hold."""
        ...

    def chat_tokens(self, messages: Sequence[Mapping[str, object]]) -> tuple[int, ...]:
        """The prompt of a chat, by the model's template. Raises InvalidRequest."""
        ...

    def raw_tokens(self, text: str) -> tuple[int, ...]:
        """The prompt of a text to be continued as it is. Raises InvalidRequest."""
        ...

    def caller(self, connection: object) -> str:
        """The name of the key that a Litestar request came with; empty without one."""
        ...

    def tenant(self, connection: object) -> str:
        """Whose prefixes the caller of a Litestar request shares: for ``Request.tenant``."""
        ...

    async def run(self, request: Request) -> list[Event]:
        """All events of ``request``; raises its error where it fails. Cancelling the call cancels it."""
        ...

    async def on_engine(self, action: Callable[[], T]) -> T:
        """Run ``action`` on the engine thread, between two steps. It stops every user while it runs."""
        ...


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request for an answer, as far as it asks for what the core does not do."""

    endpoint: Literal["chat", "completions"]
    fields: Mapping[str, object]
    """By name: what the OpenAI API has and the core has not (``response_format``, ``tools``), what only
    plugins know, and the fields of the object ``reame``, as ``reame.NAME``. Never null."""
    n: int
    """Answers asked for."""
    streamed: bool


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A piece of a tool call; ``id`` and ``name`` belong to its first piece."""

    index: int
    arguments: str = ""
    id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class ThoughtPart:
    """A piece of what the model thinks before it answers: no content."""

    text: str


ReplyPart = str | ToolCallPart | ThoughtPart
"""Content (a text), a piece of a tool call, or of the thoughts before both."""

MessageChange = Callable[[Sequence[Mapping[str, object]]], Sequence[Mapping[str, object]]]
"""From the messages of a chat to others. They have been checked: each has a ``role`` and a text as ``content``,
the arguments of its tool calls are objects."""


class ReplyParser(Protocol):
    """Turns the text of one choice into content, tool calls and thoughts, as it comes."""

    def push(self, text: str) -> Sequence[ReplyPart]:
        """What is known after ``text`` has come."""
        ...

    def end(self) -> Sequence[ReplyPart]:
        """What was held back, at the end of the text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldService:
    """What a plugin does for a request. One that serves no field of it answers None instead."""

    fields: frozenset[str]
    """The names in ``ApiRequest.fields`` that are taken care of."""
    extra: object = None
    """For the plugin's engine hooks: ``Request.extra[plugin]``."""
    extra_for_prompt: Callable[[], object] | None = None
    """Instead of ``extra``: makes it anew for each prompt of the request, in their order."""
    tools: Sequence[Mapping[str, object]] = ()
    """Shown to the model by the chat template."""
    messages: MessageChange | None = None
    """Applied before the chat template sees the messages."""
    constraint: ConstraintMaker | None = None
    """Only what it allows is generated. Of one plugin at most for each request."""
    parser: Callable[[Sequence[int]], ReplyParser] | None = None
    """Makes a parser for each choice of a chat, given the tokens of its prompt."""
    candidates: int | None = None
    """Compute so many choices and answer with the one that ``select_winner`` chooses, or with the most
    probable one where it chooses none. Only for requests with ``n`` 1."""
    sampling: Callable[[SamplingParams], Sequence[SamplingParams]] | None = None
    """How each of the ``candidates`` is sampled, made from what the request asks for; None for all alike."""
    wave: int | None = None
    """Start so many of the ``candidates``, and as many more when these have ended without a winner."""
    report: Callable[[], object] | None = None
    """Called at the end of the answer: a JSON value for ``reame.plugins.NAME`` in the response."""
    headers: Callable[[], Mapping[str, str]] | None = None
    """Called at the end of an answer that is not streamed: headers of the response. Their names begin with
    ``x-reame-``, others are left out."""
    notes: Callable[[], Sequence[str]] | None = None
    """Called at the end of ``reame run``: lines for standard error."""


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


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Somebody else computes this answer: ask again in so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class RunOption:
    """An option of ``reame run`` that is a field of the request, as a client would send it."""

    option: str
    """As it is typed, such as ``--best-of``."""
    field: str
    """The name in ``ApiRequest.fields``."""
    key: str | None
    """Of the field's object, where the option is a part of it; None where it is the field."""
    metavar: str
    """Stands for the value in the help."""
    help: str
    read: Callable[[str], object] = str
    """The field's value for what was typed. Raises ValueError with a sentence."""
    choices: bool = False
    """Whether the value, a whole number, says how many choices are computed, so that there is room for them."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a metric."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metric:
    """A counter or gauge for Prometheus, called ``reame_PLUGIN_NAME`` there (counters end in ``_total``)."""

    name: str
    description: str
    kind: Literal["counter", "gauge"]
    samples: Sequence[Sample]
    """With the same label names in all."""
