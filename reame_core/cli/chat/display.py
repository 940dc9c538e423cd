"""Where a chat shows things; the plain way, without a single escape code."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from reame_core.cli.terminal import write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


TICK_S = 1.0
"""Longest time without a look at the clock, and at a Ctrl-C that came in the very moment before a wait."""


class AnswerView(Protocol):
    """An answer on the screen, while it grows."""

    def add(self, text: str) -> None:
        """More of the answer."""
        ...

    def paint(self, progress: str) -> float:
        """Bring the screen up to date where it is time for that, with ``progress`` below the text. Returns in
        how many seconds to call again, even if nothing has happened."""
        ...

    def close(self) -> None:
        """All of the answer stays on the screen, and the cursor goes to a new line."""
        ...


class Display(Protocol):
    def say(self, text: str) -> None:
        """What was asked for; one line or several."""
        ...

    def remark(self, text: str) -> None:
        """What is good to know."""
        ...

    def complain(self, text: str) -> None:
        """What could not be done, in one line."""
        ...

    def answer(self) -> AbstractContextManager[AnswerView]:
        """Shows one answer. At the end all of it stays on the screen and the cursor is in a new line."""
        ...


class PlainDisplay:
    """Lines and nothing else."""

    def say(self, text: str) -> None:
        write(text.removesuffix("\n") + "\n")

    def remark(self, text: str) -> None:
        self.say(text)

    def complain(self, text: str) -> None:
        self.say(f"error: {text}")

    @contextmanager
    def answer(self) -> Iterator[AnswerView]:
        view = PlainAnswer()
        try:
            yield view
        finally:
            view.close()


class PlainAnswer:
    """The text as it comes."""

    def __init__(self) -> None:
        self._line_open = False

    def add(self, text: str) -> None:
        text = text.replace("\r\n", "\n")
        write(text)
        if text:
            self._line_open = not text.endswith("\n")

    def paint(self, progress: str) -> float:
        return TICK_S

    def close(self) -> None:
        if self._line_open:
            write("\n")
