"""Writing to stdout (results alone) and stderr (everything else)."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO

from reame_core.errors import ReameError

_KEPT = "\n\t"
_HARMLESS = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160)) if chr(code) not in _KEPT
}


class OutputClosed(Exception):
    """Nobody reads stdout any more, as in ``reame … | head``."""


class OutputError(ReameError):
    """stdout cannot be written, for example because the disk is full."""


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def terminal_size() -> os.terminal_size:
    """Of the terminal that stdout is; 80 by 24 where that is not known. Variables are not asked: they know
    nothing of a window that was resized."""
    try:
        columns, lines = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        columns, lines = 0, 0
    return os.terminal_size((columns or 80, lines or 24))


def harmless(text: str) -> str:
    """``text`` with control characters other than line breaks and tabs replaced, so that it can be shown."""
    return text.translate(_HARMLESS)


def write(text: str, *, styled: bool = False) -> None:
    """Put a result on stdout, at once. What a model says must not steer a terminal: there, control
    characters are replaced, unless the text is ``styled`` by ourselves."""
    stream = sys.stdout
    if stream is None or not text:
        return
    if is_terminal(stream) and not styled:
        text = harmless(text)
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            stream.write(text.encode(stream.encoding, "replace").decode(stream.encoding))
        stream.flush()
    except BrokenPipeError:
        raise OutputClosed from None
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {error.strerror or error}") from None


def discard_output() -> None:
    """Send what stdout still holds to nowhere, or Python would complain about it at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def note(text: str) -> None:
    """One line on stderr; where that is impossible, none."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(one_line(text) + "\n")
        sys.stderr.flush()


def one_line(text: str) -> str:
    """``text`` without line breaks and other control characters, which names of files may contain."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "replace").decode("ascii")
        for character in text
    )
