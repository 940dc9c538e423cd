"""The last lines of the screen, rewritten in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from reame_core.cli.chat.markdown import Line

_BEGIN, _END = "\x1b[?2026h\x1b[?25l", "\x1b[?25h\x1b[?2026l"
"""One frame, for terminals that know such a thing; the cursor is not seen to move."""
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
_CLEAR_LINE, _CLEAR_BELOW = "\x1b[K", "\x1b[J"


class LiveRegion:
    """Lines that stay, and below them lines that are replaced by the next ``show``.

    Only what has changed is written, in one piece and over what was there: nothing is blank in between. Where
    the width has changed, lines are taken to have been folded by the terminal, as nearly all terminals do."""

    def __init__(self, write: Callable[[str], None], size: Callable[[], os.terminal_size]) -> None:
        self._write = write
        self._size = size
        self._shown: list[Line] = []
        self._columns = size().columns

    def show(self, lasting: Sequence[Line], live: Sequence[Line]) -> None:
        """``lasting`` lines take the place of those that were live, the new ``live`` ones follow. Without any
        of these the cursor is at the beginning of a new line, else at the end of the last one."""
        columns = self._size().columns
        lines = [*lasting, *live]
        kept = 0 if columns != self._columns else _common(self._shown, lines)
        self._columns = columns
        if kept < len(self._shown) or kept < len(lines):
            self._write(_BEGIN + self._redrawn(lines, len(lasting), kept) + _END)
        if lines and not live:
            self._write("\r\n")
        self._shown = list(live)

    def _redrawn(self, lines: list[Line], lasting: int, kept: int) -> str:
        # There is no going back beyond the first line, so the last one is written again.
        kept = min(kept, max(len(lines) - 1, 0))
        text = self._at_line(kept)
        for place, line in enumerate(lines[kept:], start=kept):
            text += "\r\n" if place > kept else ""
            text += _NO_WRAP if place >= lasting else ""
            text += line.text + (_CLEAR_LINE if place < len(lines) - 1 else _CLEAR_BELOW)
            text += _WRAP if place >= lasting else ""
        return text if lines else text + _CLEAR_BELOW

    def _at_line(self, place: int) -> str:
        """From the end of what is shown to the beginning of its line ``place``."""
        if not self._shown:
            return ""
        if place == len(self._shown):
            return "\r\n"
        rows = sum(self._rows(line) for line in self._shown[place:]) - 1
        return "\r" + (f"\x1b[{rows}A" if rows else "")

    def _rows(self, line: Line) -> int:
        return max(1, -(-line.cells // max(self._columns, 1)))


def _common(before: Sequence[Line], after: Sequence[Line]) -> int:
    """How many lines at the beginning are the same."""
    for place, (one, other) in enumerate(zip(before, after, strict=False)):
        if one != other:
            return place
    return min(len(before), len(after))
