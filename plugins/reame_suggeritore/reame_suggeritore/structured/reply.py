"""From an answer's text to content and tool calls, as it comes."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from reame_core.plugins.api import ToolCallPart
from reame_suggeritore.structured.json_text import JsonEnd
from reame_suggeritore.structured.tool_format import ToolFormat

Part = str | ToolCallPart


class ToolReplyParser:
    """A ``ReplyParser`` of answers in ``form``, whose grammar they obey. White space before a call is no
    content."""

    def __init__(self, form: ToolFormat) -> None:
        self._form = form
        self._pending = ""
        self._state = self._text if form.marker else self._first
        self._calls = 0
        self._arguments = JsonEnd()

    def push(self, text: str) -> Sequence[Part]:
        """What is known after ``text`` has come."""
        self._pending += text
        parts: list[Part] = []
        # Each state takes what it can of the pending text; none can go on where it takes nothing.
        while self._pending and (taken := self._state()) is not None:
            parts += taken
        return parts

    def end(self) -> Sequence[Part]:
        """Content that was held back because a call might have begun. Of a call that was cut before its
        arguments nothing is told."""
        wanted = self._pending.strip() or not self._calls
        return [self._pending] if self._pending and wanted and self._state == self._text else []

    def _first(self) -> list[Part] | None:
        self._state = self._head if self._form.opening.startswith(self._pending[0]) else self._rest
        return []

    def _rest(self) -> list[Part] | None:
        text, self._pending = self._pending, ""
        return [text]

    def _text(self) -> list[Part] | None:
        """Content, up to the marker of a call."""
        before, marker, _ = self._pending.partition(self._form.marker)
        if marker:
            self._pending = self._pending[len(before) :]
            self._state = self._head
            return [before.rstrip()] if before.strip() else []
        kept = _held_back(self._pending, self._form.marker)
        content = self._pending[: len(self._pending) - kept]
        if not content:
            return None
        self._pending = self._pending[len(content) :]
        return [content]

    def _head(self) -> list[Part] | None:
        """The beginning of a call, with the name."""
        head, found, _ = self._pending.partition(self._form.before_arguments)
        if not found:
            return None
        name = head[len(self._form.opening) :]
        self._pending = self._pending[len(head) + len(found) :]
        self._state = self._in_arguments
        self._arguments = JsonEnd()
        return [ToolCallPart(self._calls, id=f"call_{uuid.uuid4().hex[:24]}", name=name)]

    def _in_arguments(self) -> list[Part] | None:
        end = self._arguments.find(self._pending)
        part = ToolCallPart(self._calls, arguments=self._pending[:end])
        self._pending = self._pending[len(part.arguments) :]
        if end is not None:
            self._calls += 1
            self._state = self._tail
        return [part]

    def _tail(self) -> list[Part] | None:
        """What closes a call."""
        closing = self._form.closing
        if len(self._pending) < len(closing):
            return None
        self._pending = self._pending[len(closing) :]
        self._state = self._text if self._form.marker else self._rest
        return []


def _held_back(text: str, marker: str) -> int:
    """Length of the end of ``text`` that may belong to a call: the beginning of ``marker`` and white space
    before it."""
    begun = next((n for n in range(min(len(marker) - 1, len(text)), 0, -1) if marker.startswith(text[-n:])), 0)
    return len(text) - len(text[: len(text) - begun].rstrip())
