"""What a client asks of plugins, and what a plugin does for such a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from reame_core.engine.request import SamplingParams
    from reame_core.plugins.api.constraints import ConstraintMaker


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
