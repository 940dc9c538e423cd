"""Answers as formatted Markdown, while they come."""

from __future__ import annotations

import textwrap
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from reame_core.cli.chat.display import TICK_S, PlainAnswer
from reame_core.cli.chat.live_region import LiveRegion
from reame_core.cli.chat.markdown import GrowingMarkdown, Line
from reame_core.cli.terminal import harmless, terminal_size, write

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from reame_core.cli.chat.display import AnswerView

FIRST_FRAME_S = 0.3
"""Nothing is shown of an answer that is complete before."""
FRAME_S = 0.08
SHARE_FOR_PAINTING = 20
"""Painting takes at most one part in so many of the time: the model needs the processor more."""
NARROWEST = 10
_ERROR = "error:"
_DIM, _RED, _PLAIN = "\x1b[2m", "\x1b[31m", "\x1b[0m"

_write = partial(write, styled=True)


class StyledDisplay:
    """Remarks are dim, errors red. ``formatted`` answers ask for Markdown each time."""

    def __init__(self, formatted: Callable[[], bool]) -> None:
        self._formatted = formatted

    def say(self, text: str) -> None:
        write(text.removesuffix("\n") + "\n")

    def remark(self, text: str) -> None:
        for line in _folded(text):
            _write(f"{_DIM}{line}{_PLAIN}\n")

    def complain(self, text: str) -> None:
        first, *others = _folded(f"{_ERROR} {text}")
        for line in (first.replace(_ERROR, f"{_RED}{_ERROR}{_PLAIN}", 1), *others):
            _write(f"{line}\n")

    @contextmanager
    def answer(self) -> Iterator[AnswerView]:
        view = MarkdownAnswer() if self._formatted() else PlainAnswer()
        try:
            yield view
        finally:
            view.close()


class MarkdownAnswer:
    """The finished blocks of an answer, which scroll away like any text, and as much of the unfinished one as
    the screen holds, which is rendered again and again. ``clock`` gives seconds."""

    def __init__(
        self,
        show: Callable[[str], None] = _write,
        size: Callable[[], os.terminal_size] = terminal_size,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._markdown = GrowingMarkdown()
        self._size = size
        self._clock = clock
        self._region = LiveRegion(show, size)
        self._rest: list[Line] = []
        self._rendered_for: os.terminal_size | None = None
        self._fresh = False
        self._due = clock() + FIRST_FRAME_S

    def add(self, text: str) -> None:
        self._markdown.add(harmless(text))
        self._fresh = True

    def paint(self, progress: str) -> float:
        begun = self._clock()
        if begun < self._due:
            return self._due - begun
        size = self._size()
        finished = self._render(size)
        below = [_cropped(progress, size.columns - 1)] if progress else []
        self._region.show(finished, [*self._rest[-max(size.lines - 1 - len(below), 1) :], *below])
        now = self._clock()
        self._due = now + max(FRAME_S, SHARE_FOR_PAINTING * (now - begun))
        return TICK_S

    def close(self) -> None:
        self._region.show(self._markdown.take_all(_text_width(self._size())), [])

    def _render(self, size: os.terminal_size) -> list[Line]:
        """The lines that are finished now; the others go to ``_rest``."""
        if not self._fresh and size == self._rendered_for:
            return []
        width = _text_width(size)
        finished = self._markdown.take_finished(width)
        self._rest = self._markdown.unfinished(width)
        self._fresh, self._rendered_for = False, size
        return finished


def _folded(text: str) -> list[str]:
    """Lines that break between words."""
    return textwrap.wrap(harmless(text), _text_width(terminal_size()), break_long_words=False)


def _text_width(size: os.terminal_size) -> int:
    """The last column stays empty: terminals disagree about what happens when it is written, and by one cell
    about the width of some characters."""
    return max(size.columns - 1, NARROWEST)


def _cropped(text: str, width: int) -> Line:
    text = harmless(text)
    if cell_len(text) > width:
        text = set_cell_size(text, max(width, 0))
    return Line(f"{_DIM}{text}{_PLAIN}", cell_len(text))
