"""From the fields of a body to requests for the engine. Pure: may run on any thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from reame_core.engine.request import MAX_CHOICES, Request, SamplingParams
from reame_core.errors import InvalidRequest
from reame_core.models.messages import normalise
from reame_core.models.prompt import chat_tokens
from reame_core.plugins.services import Services
from reame_core.server.generation.fields import find_services, refuse_unserved, template_variables
from reame_core.server.generation.last_message import last_message
from reame_core.server.generation.prompts import Prompt, completion_prompts

if TYPE_CHECKING:
    from reame_core.plugins.api import LastMessage
    from reame_core.server.state import ServedModel, ServerState
    from reame_core.server.wire.requests import ChatRequest, CompletionRequest, GenerationFields

COMPLETION_TOKENS = 16
"""What the OpenAI API generates on /v1/completions where nobody says how much."""
MOST_STOPS = 16
"""Of a client: a chat template may have more of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What to compute, and how much of it is answered with."""

    requests: tuple[Request, ...]
    """One for each prompt."""
    n: int = 1
    """Answers for each prompt."""
    stream: bool = False
    include_usage: bool = False
    logprobs: bool = False
    services: Services = field(default_factory=Services)
    echoes: tuple[str, ...] = ()
    """What each prompt's answers begin with."""
    last_message: Callable[[], LastMessage | None] = lambda: None
    """See ``Question``."""

    @property
    def selects(self) -> bool:
        """Whether more is computed than is answered with."""
        return any(request.n > self.n for request in self.requests)


def prepare_chat(
    server: ServerState, model: ServedModel, chat: ChatRequest, left_over: Mapping[str, Any], tenant: str
) -> Prepared:
    """Raises InvalidRequest, naming the field."""
    refuse_unserved(chat)
    services = find_services(model.plugins, "chat", chat, left_over)
    if chat.top_logprobs and not chat.logprobs:
        raise InvalidRequest("top_logprobs needs logprobs to be true", param="top_logprobs")
    variables = template_variables(chat, model.template.source)
    messages: Sequence[Mapping[str, object]] = chat.messages
    for change in services.message_changes:
        messages = change(normalise(messages))
    prompt_of = partial(
        chat_tokens, model.worker.engine.backend, model.template, tools=services.tools, extra=variables
    )
    prompt = prompt_of(messages)
    named = {"max_tokens": "max_completion_tokens"} if chat.max_completion_tokens is not None else {}
    with _fields_named(_names(chat) | named | {"logprobs": "top_logprobs"}):
        request = _request(
            server,
            model,
            chat,
            services,
            prompt=prompt,
            n=services.candidates or count(chat),
            max_tokens=_first(chat.max_completion_tokens, chat.max_tokens, server.sampling.max_tokens),
            stop=(*_stops(chat), *model.template.stops),
            logprobs=(chat.top_logprobs or 0) if chat.logprobs else None,
            tenant=tenant,
        )
    return _prepared(
        chat,
        services,
        (request,),
        logprobs=bool(chat.logprobs),
        last_message=partial(last_message, messages, prompt_of),
    )


def prepare_completion(
    server: ServerState,
    model: ServedModel,
    completion: CompletionRequest,
    left_over: Mapping[str, Any],
    tenant: str,
) -> Prepared:
    """Raises InvalidRequest, naming the field."""
    refuse_unserved(completion)
    services = find_services(model.plugins, "completions", completion, left_over)
    n = count(completion)
    _check_best_of(completion, n)
    if completion.best_of is not None and services.candidates is not None:
        raise InvalidRequest(
            "best_of and a choice among candidates exclude each other: leave best_of out", param="best_of"
        )
    if completion.echo and completion.logprobs is not None:
        raise InvalidRequest("echo together with logprobs is not supported", param="echo")
    prompts = completion_prompts(model, completion.prompt, completion.suffix)
    computed = services.candidates or completion.best_of or n
    if len(prompts) > 1 and len(prompts) * computed > MAX_CHOICES:
        raise InvalidRequest(
            f"{len(prompts)} prompts times {computed} choices are more than {MAX_CHOICES}", param="prompt"
        )
    with _fields_named(_names(completion)):
        requests = tuple(
            _request(
                server,
                model,
                completion,
                services,
                prompt=prompt.tokens,
                n=computed,
                max_tokens=_first(completion.max_tokens, server.sampling.max_tokens, COMPLETION_TOKENS),
                stop=_stops(completion),
                logprobs=completion.logprobs,
                tenant=tenant,
            )
            for prompt in prompts
        )
    echoes = _echoes(prompts) if completion.echo else ()
    return _prepared(completion, services, requests, logprobs=completion.logprobs is not None, echoes=echoes)


def _request(
    server: ServerState,
    model: ServedModel,
    fields: GenerationFields,
    services: Services,
    *,
    prompt: tuple[int, ...],
    n: int,
    max_tokens: int | None,
    stop: tuple[str, ...],
    logprobs: int | None,
    tenant: str,
) -> Request:
    switches = fields.reame
    bypass = fields.cache_prompt is False or (switches is not None and switches.cache == "bypass")
    selects = n > count(fields)
    sampling = _sampling(server, fields)
    return Request(
        prompt=prompt,
        max_tokens=max_tokens,
        n=n,
        sampling=sampling,
        sampling_by_choice=services.sampling(sampling),
        stop=stop,
        stop_tokens=_stop_tokens(fields, model.info.vocabulary_size),
        ignore_end=bool(fields.ignore_eos),
        # Whoever has to choose among candidates has to know how probable each is.
        logprobs=0 if selects and logprobs is None else logprobs,
        reuse=not bypass,
        speculate=switches is None or switches.speculation is not False,
        select=services.candidates is not None,
        wave=services.wave,
        constraint=services.constraint,
        tenant=tenant,
        extra=services.new_extra(),
    )


def _sampling(server: ServerState, fields: GenerationFields) -> SamplingParams:
    configured = server.sampling
    return SamplingParams(
        logit_bias=_bias(fields.logit_bias or {}),
        repeat_penalty=_first(fields.repeat_penalty, fields.repetition_penalty, configured.repeat_penalty),
        repeat_window=_first(fields.repeat_last_n, SamplingParams().repeat_window),
        presence_penalty=_first(fields.presence_penalty, 0.0),
        frequency_penalty=_first(fields.frequency_penalty, 0.0),
        temperature=_first(fields.temperature, server.temperature),
        top_k=_first(fields.top_k, configured.top_k),
        top_p=_first(fields.top_p, configured.top_p),
        min_p=_first(fields.min_p, configured.min_p),
        seed=fields.seed,
    )


def _prepared(
    fields: GenerationFields, services: Services, requests: tuple[Request, ...], *, logprobs: bool, **more: Any
) -> Prepared:
    options = fields.stream_options
    return Prepared(
        requests=requests,
        n=count(fields),
        stream=bool(fields.stream),
        include_usage=options is not None and bool(options.include_usage),
        logprobs=logprobs,
        services=services,
        **more,
    )


def _check_best_of(completion: CompletionRequest, n: int) -> None:
    best_of = completion.best_of
    if best_of is None:
        return
    if best_of < n:
        raise InvalidRequest(f"best_of is {best_of} and n is {n}: best_of must be at least n", param="best_of")
    if completion.stream and best_of > n:
        raise InvalidRequest(
            "best_of and stream exclude each other, except where best_of is n", param="best_of"
        )
    if best_of > MAX_CHOICES:
        raise InvalidRequest(f"best_of must be from 1 to {MAX_CHOICES}, not {best_of}", param="best_of")


def count(fields: GenerationFields) -> int:
    """Answers asked for, sensible or not."""
    return 1 if fields.n is None else fields.n


def _stops(fields: GenerationFields) -> tuple[str, ...]:
    """An empty text ends nothing."""
    stop = fields.stop or ()
    texts = tuple(text for text in ((stop,) if isinstance(stop, str) else stop) if text)
    if len(texts) > MOST_STOPS:
        raise InvalidRequest(f"stop has {len(texts)} texts, at most {MOST_STOPS} are possible", param="stop")
    return texts


def _stop_tokens(fields: GenerationFields, vocabulary: int) -> frozenset[int]:
    tokens = frozenset(fields.stop_token_ids or ())
    if not all(0 <= token < vocabulary for token in tokens):
        raise InvalidRequest(
            f"stop_token_ids holds token ids outside 0 to {vocabulary - 1}", param="stop_token_ids"
        )
    return tokens


def _bias(given: Mapping[str, float]) -> dict[int, float]:
    bias: dict[int, float] = {}
    for key, value in given.items():
        if not (key.isascii() and key.isdigit() and len(key) < 20):
            raise InvalidRequest('logit_bias must be keyed by token ids, such as "123"', param="logit_bias")
        bias[int(key)] = value
    return bias


def _echoes(prompts: list[Prompt]) -> tuple[str, ...]:
    return tuple(prompt.text for prompt in prompts)


def _first(*values: Any) -> Any:
    """The first that was given."""
    return next((value for value in values if value is not None), None)


def _names(fields: GenerationFields) -> dict[str, str]:
    """What the client calls parameters that have another name in the engine."""
    names = {"repeat_window": "repeat_last_n"}
    if fields.repeat_penalty is None and fields.repetition_penalty is not None:
        names["repeat_penalty"] = "repetition_penalty"
    return names


@contextmanager
def _fields_named(names: Mapping[str, str]) -> Iterator[None]:
    """Errors name the field that the client has sent: ``names`` by the engine's names."""
    try:
        yield
    except InvalidRequest as error:
        sent = names.get(error.param or "")
        if sent is None:
            raise
        raise InvalidRequest(str(error).replace(str(error.param), sent), param=sent) from None
