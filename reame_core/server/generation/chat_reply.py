"""Responses of /v1/chat/completions, whole and in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from reame_core.plugins.api import ThoughtPart, ToolCallPart
from reame_core.server.generation.logprobs import chat_logprobs
from reame_core.server.generation.usage import finish_reason, report_of, usage_of
from reame_core.server.wire.responses import (
    ChatChoice,
    ChatChunk,
    ChatChunkChoice,
    ChatCompletion,
    Delta,
    FinishReason,
    FunctionCall,
    Message,
    ReameReport,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from reame_core.engine.events import Finished, TextDelta
    from reame_core.plugins.api import ReplyParser, ReplyPart
    from reame_core.server.generation.outcome import Outcome, Outcomes
    from reame_core.server.generation.preparation import Prepared
    from reame_core.server.generation.reply import Head
    from reame_core.server.wire.responses import ChatLogprobs


def chat_completion(head: Head, prepared: Prepared, outcomes: Outcomes) -> ChatCompletion:
    """The whole answer."""
    answers = outcomes.answers()
    return ChatCompletion(
        id=head.id,
        created=head.created,
        model=head.model,
        system_fingerprint=head.system_fingerprint,
        choices=[_choice(head, prepared, index, outcome) for index, outcome in enumerate(answers)],
        usage=usage_of(outcomes.finished),
        reame=report_of(outcomes.finished, prepared.services.reports()),
    )


def _choice(head: Head, prepared: Prepared, index: int, outcome: Outcome) -> ChatChoice:
    assert outcome.finished is not None
    parser = new_parser(prepared)
    parts: list[ReplyPart] = [outcome.text]
    if parser is not None:
        parts = [*parser.push(outcome.text), *parser.end()]
    text = "".join(part for part in parts if isinstance(part, str))
    thoughts = "".join(part.text for part in parts if isinstance(part, ThoughtPart))
    calls = _whole_calls(part for part in parts if isinstance(part, ToolCallPart))
    content = text if text or not calls else None
    return ChatChoice(
        index=index,
        message=Message("assistant", content, tool_calls=calls or UNSET, reasoning_content=thoughts or UNSET),
        logprobs=chat_logprobs(head.texts, outcome.logprobs) if prepared.logprobs else None,
        finish_reason=_reason(outcome.finished, called=bool(calls)),
    )


def new_parser(prepared: Prepared) -> ReplyParser | None:
    """The parser of one choice, where a plugin has one."""
    makers = (service.parser for service in prepared.services.by_plugin.values())
    prompt = prepared.requests[0].prompt
    return next((maker(prompt) for maker in makers if maker is not None), None)


def _whole_calls(parts: Iterable[ToolCallPart]) -> list[ToolCall]:
    calls: dict[int, ToolCall] = {}
    for part in parts:
        call = calls.setdefault(part.index, ToolCall("", "function", FunctionCall("")))
        call.id = call.id or part.id
        call.function.name = call.function.name or part.name
        call.function.arguments += part.arguments
    return [calls[index] for index in sorted(calls)]


def _reason(finished: Finished, *, called: bool) -> FinishReason:
    reason = finish_reason(finished)
    return "tool_calls" if called and reason == "stop" else reason


class ChatChunks:
    """The chunks of one stream: the role first, then text, then the reason of the end."""

    def __init__(self, head: Head, prepared: Prepared) -> None:
        self._head = head
        self._prepared = prepared
        self._usage: UnsetType | None = None if prepared.include_usage else UNSET
        self._begun: set[int] = set()
        self._parsers: dict[int, ReplyParser | None] = {}
        self._called: set[int] = set()

    def delta(self, event: TextDelta) -> list[msgspec.Struct]:
        """The chunks that deliver ``event``."""
        logprobs = chat_logprobs(self._head.texts, event.logprobs) if self._prepared.logprobs else None
        chunks = self._role(event.choice)
        parser = self._parsers[event.choice]
        if parser is not None:
            chunks += self._of_parts(event.choice, parser.push(event.text), logprobs)
        elif event.text or event.logprobs:
            chunks.append(self._chunk(event.choice, Delta(content=event.text), logprobs))
        return chunks

    def finish(self, event: Finished, report: ReameReport | UnsetType) -> list[msgspec.Struct]:
        """The last chunks of a choice."""
        chunks = self._role(event.choice)
        parser = self._parsers[event.choice]
        if parser is not None:
            chunks += self._of_parts(event.choice, parser.end(), None)
        reason = _reason(event, called=event.choice in self._called)
        last = self._chunk(event.choice, Delta(), None, reason)
        last.reame = report
        return [*chunks, last]

    def usage(self, usage: Usage, report: ReameReport) -> ChatChunk:
        """The chunk behind all choices."""
        return self._of_head(choices=[], usage=usage, reame=report)

    def _role(self, choice: int) -> list[msgspec.Struct]:
        if choice in self._begun:
            return []
        self._begun.add(choice)
        self._parsers[choice] = new_parser(self._prepared)
        return [self._chunk(choice, Delta(role="assistant", content="", refusal=None))]

    def _of_parts(
        self, choice: int, parts: Sequence[ReplyPart], logprobs: ChatLogprobs | None
    ) -> list[msgspec.Struct]:
        chunks: list[msgspec.Struct] = []
        for part in parts:
            if isinstance(part, str):
                delta = Delta(content=part)
            elif isinstance(part, ThoughtPart):
                delta = Delta(reasoning_content=part.text)
            else:
                self._called.add(choice)
                delta = Delta(tool_calls=[_call_part(part)])
            chunks.append(self._chunk(choice, delta, logprobs))
            logprobs = None
        if logprobs is not None and logprobs.content:
            # The text of these tokens comes later or not at all, as that around a tool call.
            chunks.append(self._chunk(choice, Delta(), logprobs))
        return chunks

    def _chunk(
        self,
        choice: int,
        delta: Delta,
        logprobs: ChatLogprobs | None = None,
        reason: FinishReason | None = None,
    ) -> ChatChunk:
        choices = [ChatChunkChoice(choice, delta, logprobs, reason)]
        return self._of_head(choices=choices, usage=self._usage, reame=UNSET)

    def _of_head(
        self,
        *,
        choices: list[ChatChunkChoice],
        usage: Usage | UnsetType | None,
        reame: ReameReport | UnsetType,
    ) -> ChatChunk:
        head = self._head
        return ChatChunk(
            id=head.id,
            created=head.created,
            model=head.model,
            system_fingerprint=head.system_fingerprint,
            choices=choices,
            usage=usage,
            reame=reame,
        )


def _call_part(part: ToolCallPart) -> ToolCall:
    first = bool(part.id)
    return ToolCall(
        id=part.id if first else UNSET,
        type="function" if first else UNSET,
        function=FunctionCall(part.name if first else UNSET, part.arguments),
        index=part.index,
    )
