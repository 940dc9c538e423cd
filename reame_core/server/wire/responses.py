"""Bodies of responses and of the chunks of a stream. A field that is UNSET is left out, None is null."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

FinishReason = Literal["stop", "length", "tool_calls"]
Json = Any


class PromptDetails(Struct):
    cached_tokens: int
    audio_tokens: int = 0


class CompletionDetails(Struct):
    reasoning_tokens: int = 0
    audio_tokens: int = 0
    accepted_prediction_tokens: int = 0
    rejected_prediction_tokens: int = 0


class Usage(Struct):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


class Timings(Struct):
    """Wall-clock milliseconds; of several choices the longest counts."""

    queued_ms: float
    prefill_ms: float
    decode_ms: float
    prompt_tokens_per_second: float | None
    tokens_per_second: float | None


class DraftDecisions(Struct):
    """What was decided about the drafts of one source."""

    asked: int
    """Times that it was asked for a draft."""
    paid: int
    """Drafts that were given rows."""
    unpaid: int
    """Drafts that did not promise enough for a row."""
    ms: float
    """Spent on asking."""


class Drafts(Struct):
    """Tokens drafted and verified, and those of them that were right."""

    drafted: int
    accepted: int
    by_source: dict[str, tuple[int, int]] | UnsetType = UNSET
    """The same two for each source of drafts."""
    decisions: dict[str, DraftDecisions] | UnsetType = UNSET
    """For each source that was asked."""


class ReameReport(Struct):
    """How an answer came about."""

    timings: Timings
    prompt_tokens: dict[str, int]
    """By where they came from: ``computed``, ``ram``, or the name of a plugin."""
    speculation: Drafts
    plugins: dict[str, Json] | UnsetType = UNSET


class TopLogprob(Struct):
    token: str
    logprob: float
    bytes: list[int]


class TokenLogprob(Struct):
    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[TopLogprob]


class ChatLogprobs(Struct):
    content: list[TokenLogprob]
    refusal: None = None


class FunctionCall(Struct):
    name: str | UnsetType = UNSET
    arguments: str = ""


class ToolCall(Struct):
    id: str | UnsetType
    type: Literal["function"] | UnsetType
    function: FunctionCall
    index: int | UnsetType = UNSET
    """In streams only."""


class Message(Struct):
    role: Literal["assistant"]
    content: str | None
    refusal: None = None
    tool_calls: list[ToolCall] | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    """What the model thought before it answered, where a plugin tells it apart."""


class ChatChoice(Struct):
    index: int
    message: Message
    logprobs: ChatLogprobs | None
    finish_reason: FinishReason


class ChatCompletion(Struct, kw_only=True):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChatChoice]
    usage: Usage
    reame: ReameReport | UnsetType = UNSET


class Delta(Struct):
    role: Literal["assistant"] | UnsetType = UNSET
    content: str | UnsetType | None = UNSET
    refusal: UnsetType | None = UNSET
    tool_calls: list[ToolCall] | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET


class ChatChunkChoice(Struct):
    index: int
    delta: Delta
    logprobs: ChatLogprobs | None = None
    finish_reason: FinishReason | None = None


class ChatChunk(Struct, kw_only=True):
    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChatChunkChoice]
    usage: Usage | UnsetType | None = UNSET
    reame: ReameReport | UnsetType = UNSET


class CompletionLogprobs(Struct):
    """The four parallel lists of the legacy form."""

    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


class CompletionChoice(Struct):
    index: int
    text: str
    logprobs: CompletionLogprobs | None = None
    finish_reason: Literal["stop", "length"] | None = None


class Completion(Struct, kw_only=True):
    """Also the chunk of a stream."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[CompletionChoice]
    usage: Usage | UnsetType | None = UNSET
    reame: ReameReport | UnsetType = UNSET


class ErrorDetail(Struct):
    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(Struct):
    error: ErrorDetail


class ModelCard(Struct, kw_only=True):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "reame"
    max_model_len: int | UnsetType = UNSET
    """Longest prompt and answer together, in tokens."""


class ModelList(Struct, kw_only=True):
    object: Literal["list"] = "list"
    data: list[ModelCard]


class Health(Struct):
    status: Literal["ok", "starting", "draining"]
    model: str | None = None
    error: ErrorDetail | UnsetType = UNSET


class Tokens(Struct):
    tokens: list[Json]
    """Token ids, or objects with ``id`` and ``piece``."""
    count: int
    max_model_len: int


class Text(Struct):
    content: str
    prompt: str
    """The same, by the name that other servers give it."""


class PluginState(Struct):
    name: str
    state: str


class KvCells(Struct):
    """Cells of KV memory; each holds a token."""

    total: int
    used: int


class Work(Struct):
    """Since the start of the server, at ``at`` seconds of its age."""

    at: float
    computed: int
    """Tokens of prompts that were computed."""
    reused: dict[str, int]
    """Those that were not, by where they were remembered: ``ram``, or the name of a plugin."""
    generated: int
    drafted: dict[str, int]
    """Tokens guessed and verified, by who guessed."""
    accepted: dict[str, int]
    """Those of them that were right."""
    seconds_avoided: float
    """Reused tokens times the measured cost of one: a lower bound."""


class LoadedModel(Struct):
    name: str
    description: dict[str, str]
    """For people: threads, context, buffers and the like."""
    plugins: list[PluginState]
    kv_cells: KvCells
    running: int
    waiting: int
    compute_seconds: float
    """Spent computing batches."""


class Status(Struct):
    """What the status page shows."""

    status: Literal["ok", "starting", "draining"]
    version: str
    tokens_per_second: float
    """Generated of late, by all answers together."""
    work: list[Work]
    """At up to 122 moments of the server's life; the last one is now."""
    model: LoadedModel | None = None
