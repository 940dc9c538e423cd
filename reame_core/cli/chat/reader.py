"""Reading what is typed; the plain way, by the terminal's own line editing."""

from __future__ import annotations

import sys
from typing import Protocol

from reame_core.cli.chat.typed import is_unfinished
from reame_core.cli.terminal import write

PROMPT, CONTINUATION = ">>> ", "... "


class Discarded(Exception):
    """Ctrl-C threw away what had been typed."""


class Reader(Protocol):
    def read(self) -> str:
        """One message or command, which may have several lines. Raises EOFError at the end of the input,
        KeyboardInterrupt where Ctrl-C came when nothing was typed, else Discarded."""
        ...


class PlainReader:
    """Lines of standard input. A text in triple quotes may have many."""

    def read(self) -> str:
        lines = ""
        try:
            while True:
                write(CONTINUATION if lines else PROMPT)
                line = sys.stdin.readline()
                if not line:
                    write("\n")
                    raise EOFError
                lines += line
                if not is_unfinished(lines):
                    return lines
        except KeyboardInterrupt:
            write("\n")
            if lines:
                raise Discarded from None
            raise
