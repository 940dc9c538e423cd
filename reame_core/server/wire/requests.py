"""Bodies of requests. Every parameter of the OpenAI API is here, so that none is taken for an unknown one:
what is not served is refused by name in ``unserved``. Ranges are checked by the engine's own types.

None stands for a field that was not sent.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Json = Any

_PART = {
    "type": "object",
    "properties": {"type": {"enum": ["text"]}, "text": {"type": "string"}},
    "required": ["type", "text"],
}
_MESSAGE = {
    "type": "object",
    "properties": {
        "role": {"enum": ["system", "developer", "user", "assistant", "tool"]},
        "content": {"anyOf": [{"type": "string"}, {"type": "array", "items": _PART}, {"type": "null"}]},
    },
    "required": ["role"],
}
Choices = Annotated[
    int, Meta(description="How many answers.", extra_json_schema={"minimum": 1, "maximum": 128})
]
Bias = Annotated[
    dict[str, float], Meta(description="Added to the logits of tokens, by token id, from -100 to 100.")
]
TokenIds = list[int]


class StreamOptions(Struct, kw_only=True):
    include_usage: Annotated[
        bool | None, Meta(description="Send a last chunk with `usage` and empty `choices`.")
    ] = None
    include_obfuscation: bool | None = None


class ReameFields(Struct, kw_only=True):
    """Reame's own switches. Fields of plugins are added by the plugins."""

    speculation: Annotated[bool | None, Meta(description="false: no drafts for this request.")] = None
    cache: Annotated[
        Literal["use", "bypass"] | None,
        Meta(description="bypass: compute the whole prompt, whatever is remembered."),
    ] = None


class GenerationFields(Struct, kw_only=True):
    """What chats and completions have in common."""

    model: Annotated[str, Meta(description="One of the names of /v1/models.")]
    max_tokens: Annotated[
        int | None, Meta(description="Tokens to generate at most.", extra_json_schema={"minimum": 1})
    ] = None
    temperature: Annotated[
        float | None,
        Meta(
            description="0 always takes the most probable token.",
            extra_json_schema={"minimum": 0, "maximum": 100},
        ),
    ] = None
    top_p: Annotated[float | None, Meta(extra_json_schema={"exclusiveMinimum": 0, "maximum": 1})] = None
    top_k: Annotated[int | None, Meta(description="0 keeps all tokens.", extra_json_schema={"minimum": 0})] = (
        None
    )
    min_p: Annotated[float | None, Meta(extra_json_schema={"minimum": 0, "maximum": 1})] = None
    presence_penalty: Annotated[float | None, Meta(extra_json_schema={"minimum": -2, "maximum": 2})] = None
    frequency_penalty: Annotated[float | None, Meta(extra_json_schema={"minimum": -2, "maximum": 2})] = None
    repeat_penalty: Annotated[float | None, Meta(extra_json_schema={"exclusiveMinimum": 0, "maximum": 10})] = (
        None
    )
    repetition_penalty: Annotated[float | None, Meta(description="The same as `repeat_penalty`.")] = None
    repeat_last_n: Annotated[
        int | None, Meta(description="How many tokens `repeat_penalty` looks back at.")
    ] = None
    n: Choices | None = None
    stop: Annotated[
        str | list[str] | None, Meta(description="Texts that end the answer and are not part of it.")
    ] = None
    stop_token_ids: TokenIds | None = None
    seed: Annotated[int | None, Meta(description="Same seed, same request, same answer.")] = None
    logit_bias: Bias | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = None
    cache_prompt: Annotated[
        bool | None, Meta(description='false: the same as `"reame": {"cache": "bypass"}`.')
    ] = None
    ignore_eos: Annotated[bool | None, Meta(description="Go on after the model's own end.")] = None
    reame: ReameFields | None = None


class ChatRequest(GenerationFields, kw_only=True):
    """Body of POST /v1/chat/completions."""

    messages: Annotated[
        list[Any],
        Meta(
            description="The conversation: objects with `role` and `content`, a text or a list of text parts.",
            extra_json_schema={"items": _MESSAGE, "minItems": 1},
        ),
    ]
    max_completion_tokens: Annotated[
        int | None,
        Meta(description="Wins over `max_tokens`.", extra_json_schema={"minimum": 1}),
    ] = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int | None, Meta(extra_json_schema={"minimum": 0, "maximum": 20})] = None
    chat_template_kwargs: Annotated[
        dict[str, Json] | None, Meta(description="Further variables of the chat template.")
    ] = None
    reasoning_effort: Annotated[
        str | None, Meta(description="Handed to chat templates that read it, refused with others.")
    ] = None
    store: bool | None = None
    metadata: dict[str, Json] | None = None
    service_tier: str | None = None
    modalities: list[str] | None = None
    audio: Json = None
    verbosity: str | None = None
    web_search_options: Json = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None


class CompletionRequest(GenerationFields, kw_only=True):
    """Body of POST /v1/completions."""

    prompt: Annotated[
        str | list[Any],
        Meta(
            description="A text, a list of texts, a list of token ids, or a list of such lists.",
            extra_json_schema={"items": {}, "minItems": 1},
        ),
    ]
    suffix: Annotated[
        str | None, Meta(description="What comes after the answer; for models with fill-in-the-middle tokens.")
    ] = None
    echo: Annotated[bool | None, Meta(description="Begin the answer with the prompt.")] = None
    logprobs: Annotated[int | None, Meta(extra_json_schema={"minimum": 0, "maximum": 20})] = None
    best_of: Annotated[
        int | None,
        Meta(
            description="Compute so many answers and give the `n` of the highest mean log-probability.",
            extra_json_schema={"minimum": 1, "maximum": 128},
        ),
    ] = None


class TokenizeRequest(Struct, kw_only=True):
    """Body of POST /tokenize: one of `content`, `prompt` (the same) and `messages`."""

    content: str | None = None
    prompt: str | None = None
    messages: list[Any] | None = None
    add_special: Annotated[
        bool | None, Meta(description="Begin with the model's beginning token, as a prompt does.")
    ] = None
    parse_special: Annotated[bool | None, Meta(description="Texts of control tokens become those tokens.")] = (
        None
    )
    with_pieces: Annotated[bool | None, Meta(description="Give each token's text too.")] = None


class DetokenizeRequest(Struct, kw_only=True):
    """Body of POST /detokenize."""

    tokens: TokenIds
