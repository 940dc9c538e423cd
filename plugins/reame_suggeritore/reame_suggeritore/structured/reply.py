"""From an answer's text to content and tool calls, as it comes."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from reame_core.plugins.api import ReplyPart, ToolCallPart
from reame_suggeritore.structured.json_text import JsonEnd
from reame_suggeritore.structured.state_parser import StateParser, held_back
from reame_suggeritore.structured.tool_format import ToolFormat


class ToolReplyParser(StateParser):
    """A ``ReplyParser`` of answers in ``form``, whose grammar they obey. White space before a call is no
    content."""

    def __init__(self, form: ToolFormat) -> None:
        super().__init__(self._text if form.marker else self._first)
        self._form = form
        self._calls = 0
        self._arguments = JsonEnd()

    def end(self) -> Sequence[ReplyPart]:
        """Content that was held back because a call might have begun. Of a call that was cut before its
        arguments nothing is told."""
        wanted = self._pending.strip() or not self._calls
        return [self._pending] if self._pending and wanted and self._state == self._text else []

    def _first(self) -> list[ReplyPart] | None:
        self._state = self._head if self._form.opening.startswith(self._pending[0]) else self._rest
        return []

    def _rest(self) -> list[ReplyPart] | None:
        text, self._pending = self._pending, ""
        return [text]

    def _text(self) -> list[ReplyPart] | None:
        """Content, up to the marker of a call."""
        before, marker, _ = self._pending.partition(self._form.marker)
        if marker:
            self._pending = self._pending[len(before) :]
            self._state = self._head
            return [before.rstrip()] if before.strip() else []
        kept = held_back(self._pending, self._form.marker)
        content = self._pending[: len(self._pending) - kept]
        if not content:
            return None
        self._pending = self._pending[len(content) :]
        return [content]

    def _head(self) -> list[ReplyPart] | None:
        """The beginning of a call, with the name."""
        head, found, _ = self._pending.partition(self._form.before_arguments)
        if not found:
            return None
        name = head[len(self._form.opening) :]
        self._pending = self._pending[len(head) + len(found) :]
        self._state = self._in_arguments
        self._arguments = JsonEnd()
        return [ToolCallPart(self._calls, id=f"call_{uuid.uuid4().hex[:24]}", name=name)]

    def _in_arguments(self) -> list[ReplyPart] | None:
        end = self._arguments.find(self._pending)
        part = ToolCallPart(self._calls, arguments=self._pending[:end])
        self._pending = self._pending[len(part.arguments) :]
        if end is not None:
            self._calls += 1
            self._state = self._tail
        return [part]

    def _tail(self) -> list[ReplyPart] | None:
        """What closes a call."""
        closing = self._form.closing
        if len(self._pending) < len(closing):
            return None
        self._pending = self._pending[len(closing) :]
        self._state = self._text if self._form.marker else self._rest
        return []
