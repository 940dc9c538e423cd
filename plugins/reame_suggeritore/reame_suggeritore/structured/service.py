"""What the plugin does for requests that ask for structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from reame_core.errors import InvalidRequest
from reame_core.plugins.api import FieldService
from reame_suggeritore.structured.compiler import Compiler
from reame_suggeritore.structured.drafts import draft_for
from reame_suggeritore.structured.fields import ANSWER_FIELDS, REPLACED_FIELDS, TOOL_FIELDS, Wish, read_answer
from reame_suggeritore.structured.grammar import Grammar, in_lark, of_schema
from reame_suggeritore.structured.reply import ToolReplyParser
from reame_suggeritore.structured.schema import refusal
from reame_suggeritore.structured.thinking import Thinking
from reame_suggeritore.structured.tokenizer import Tokenizer
from reame_suggeritore.structured.tool_format import ToolFormat, format_of
from reame_suggeritore.structured.tool_grammar import grammar_of
from reame_suggeritore.structured.tool_messages import with_tools
from reame_suggeritore.structured.tools import ToolWish, read_tools

if TYPE_CHECKING:
    from reame_core.plugins.api import ApiRequest, Draft, PluginContext, SequenceView

_FIELDS = ANSWER_FIELDS | TOOL_FIELDS | REPLACED_FIELDS.keys()


class Structure:
    """For one model. ``serve`` may be called from any thread."""

    def __init__(self, context: PluginContext) -> None:
        template = context.model.chat_template
        self.tokenizer = Tokenizer(context)
        self.compiler = Compiler(self.tokenizer)
        self._format = format_of(template)
        self._thinking = Thinking(self.tokenizer, template)

    def serve(self, request: ApiRequest) -> FieldService | None:
        """The service for ``request``, or None where it asks for no structure. Raises InvalidRequest."""
        fields = {name: value for name, value in request.fields.items() if name in _FIELDS}
        if not fields:
            return None
        for name, successor in REPLACED_FIELDS.items():
            if name in fields:
                raise InvalidRequest(f"{name} is not supported: use {successor}", param=name)
        if request.endpoint != "chat":
            for name in sorted(TOOL_FIELDS & fields.keys()):
                raise InvalidRequest(f"{name} is for chats, not for completions", param=name)
        answer = read_answer(fields)
        wish = read_tools(fields)
        chat = request.endpoint == "chat"
        if wish is None:
            assert answer is not None
            return self._service(fields, answer.grammar, (answer,), chat=chat)
        content = _content(wish, answer)
        grammar = grammar_of(wish, self._format, content)
        return self._service(fields, grammar, (answer,) if answer else (), chat=chat, wish=wish)

    def propose(self, sequence: SequenceView, limit: int) -> Draft | None:
        """What the constraint of ``sequence`` lets expect, if anything."""
        return draft_for(sequence, limit, self.tokenizer)

    def _service(
        self,
        fields: Mapping[str, object],
        grammar: Grammar | None,
        answers: Sequence[Wish],
        *,
        chat: bool,
        wish: ToolWish | None = None,
    ) -> FieldService:
        schemas = {answer.grammar.param: answer.schema for answer in answers if answer.schema is not None}
        schemas |= {tool.param: tool.parameters for tool in (wish.callable if wish else ())}
        constraint = None
        if grammar is not None:
            try:
                constraint = self._thinking.maker(self.compiler, grammar, chat=chat)
            except InvalidRequest:
                # Found out now, and not for every request: the place in the schema that is to blame.
                for param, schema in schemas.items():
                    if self.compiler.attempt(of_schema(schema, param).text)[0]:
                        raise refusal(schema, param, lambda text: self.compiler.attempt(text)[0]) from None
                raise
        if wish is None:
            parser = self._thinking.parser(None) if chat else None
            return FieldService(fields=frozenset(fields), constraint=constraint, parser=parser)
        given = fields["tools"]
        assert isinstance(given, list)
        form = self._format
        calls = wish.mode != "none"
        return FieldService(
            fields=frozenset(fields),
            constraint=constraint,
            tools=given if form.shown_by_template else (),
            messages=None if form.shown_by_template else partial(_told, given, form),
            parser=self._thinking.parser(partial(ToolReplyParser, form) if calls else None),
        )


def _told(
    tools: Sequence[Mapping[str, object]], form: ToolFormat, messages: Sequence[Mapping[str, object]]
) -> list[Mapping[str, object]]:
    return with_tools(messages, tools, form)


def _content(wish: ToolWish, answer: Wish | None) -> str | None:
    """What an answer without calls has to be, for a Lark grammar."""
    if answer is None or wish.mode == "required":
        return None
    if answer.schema is None:
        raise InvalidRequest(f"{answer.field} does not go together with tools", param=answer.field)
    return in_lark(answer.schema)
