"""The texts a user gives, checked before any model is loaded."""

from __future__ import annotations

import sys

from reame_core.cli.terminal import is_terminal
from reame_core.errors import InvalidRequest

FROM_STDIN = "-"


def is_interactive() -> bool:
    """Whether somebody sits at both ends: what is typed comes in, and what goes out is read."""
    return is_terminal(sys.stdin) and is_terminal(sys.stdout)


def read_prompt(argument: str | None) -> str:
    """The prompt: the argument, or standard input where there is none or ``-`` is given."""
    if argument is None and is_terminal(sys.stdin):
        raise InvalidRequest("no prompt: give one after the model, or pipe it in", param="prompt")
    if argument is None or argument == FROM_STDIN:
        text = _from_stdin()
    else:
        text = check_text("the prompt", argument, "prompt")
    if not text:
        raise InvalidRequest("the prompt is empty: give at least one character of text", param="prompt")
    return text


def check_text(what: str, text: str, param: str) -> str:
    """``text``, unless it came from bytes that are no text, which Python hands on as lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            f"{what} is not valid UTF-8 text (at character {error.start + 1})", param=param
        ) from None
    return text


def _from_stdin() -> str:
    if sys.stdin is None:
        raise InvalidRequest("no prompt: standard input is closed", param="prompt")
    data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"the prompt on standard input is not valid UTF-8 text"
            f" (byte 0x{data[error.start]:02x} at offset {error.start})",
            param="prompt",
        ) from None
    # echo and text files end with a line break that nobody means as part of the prompt.
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
