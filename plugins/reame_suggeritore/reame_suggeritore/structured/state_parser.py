"""What the parsers of answers have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reame_core.plugins.api import ReplyPart

State = Callable[[], list[ReplyPart] | None]
"""Takes what it can of the pending text, and may hand over to another state. None where it needs more text."""


class StateParser:
    """Text comes in pieces of any size; taken together, the parts that come out do not depend on them."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._pending = ""

    def push(self, text: str) -> Sequence[ReplyPart]:
        """What is known after ``text`` has come."""
        self._pending += text
        parts: list[ReplyPart] = []
        while self._pending and (taken := self._state()) is not None:
            parts += taken
        return parts


def held_back(text: str, mark: str) -> int:
    """Length of the end of ``text`` that may belong to ``mark``: its beginning, and white space before it."""
    begun = next((n for n in range(min(len(mark) - 1, len(text)), 0, -1) if mark.startswith(text[-n:])), 0)
    return len(text) - len(text[: len(text) - begun].rstrip())
