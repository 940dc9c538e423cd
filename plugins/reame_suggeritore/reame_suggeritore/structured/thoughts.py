"""Telling a model's thoughts from its answer."""

from __future__ import annotations

from collections.abc import Sequence

from reame_core.plugins.api import ReplyParser, ReplyPart, ThoughtPart
from reame_suggeritore.structured.state_parser import StateParser, held_back

OPEN, CLOSE = "<think>", "</think>"


class ThoughtParser(StateParser):
    """A ``ReplyParser``. Thoughts that have ``begun`` in the prompt have no mark of their own at the beginning.
    ``answer`` parses what comes behind them; without it that is content."""

    def __init__(self, answer: ReplyParser | None, *, begun: bool) -> None:
        super().__init__(self._thoughts if begun else self._opening)
        self._answer = answer

    def end(self) -> Sequence[ReplyPart]:
        """What was held back."""
        if self._state == self._thoughts:
            return [ThoughtPart(self._pending)] if self._pending else []
        rest = self._content() if self._pending else []
        return [*rest, *(self._answer.end() if self._answer is not None else [])]

    def _opening(self) -> list[ReplyPart] | None:
        beginning = self._pending.lstrip()
        if len(beginning) < len(OPEN) and OPEN.startswith(beginning):
            return None
        if beginning.startswith(OPEN):
            self._pending = beginning.removeprefix(OPEN)
            self._state = self._thoughts
        else:
            self._state = self._content
        return []

    def _thoughts(self) -> list[ReplyPart] | None:
        thoughts, closed, behind = self._pending.partition(CLOSE)
        if closed:
            self._pending = behind
            self._state = self._gap
            thoughts = thoughts.rstrip()
        else:
            thoughts = thoughts[: len(thoughts) - held_back(thoughts, CLOSE)]
            if not thoughts:
                return None
            self._pending = self._pending[len(thoughts) :]
        return [ThoughtPart(thoughts)] if thoughts else []

    def _gap(self) -> list[ReplyPart] | None:
        """White space between thoughts and answer belongs to neither."""
        self._pending = self._pending.lstrip()
        if not self._pending:
            return None
        self._state = self._content
        return []

    def _content(self) -> list[ReplyPart]:
        text, self._pending = self._pending, ""
        return [text] if self._answer is None else list(self._answer.push(text))
