"""What somebody has typed: a message or a command, on one line or on several."""

from __future__ import annotations

QUOTES = '"""'
COMMAND = "/"


def is_unfinished(text: str) -> bool:
    """Whether a text in triple quotes, alone or after a command, still lacks the closing ones."""
    head, quotes, rest = text.partition(QUOTES)
    if not quotes or (head.strip() and not is_command(head)):
        return False
    return not rest.rstrip().endswith(QUOTES)


def is_command(text: str) -> bool:
    return text.startswith(COMMAND)


def message(text: str) -> str:
    """The message itself: without triple quotes, line breaks around it and blanks at its end. A blank before a
    slash, which made it a message, goes as well."""
    quoted = unquoted(text)
    if quoted is not None:
        return quoted
    text = text.strip("\r\n").rstrip()
    return text.lstrip() if is_command(text.lstrip()) else text


def argument(text: str) -> str:
    """The text that a command is given: without triple quotes and without blanks around it."""
    quoted = unquoted(text)
    return text.strip() if quoted is None else quoted


def unquoted(text: str) -> str | None:
    """What stands in triple quotes, less one line break at each end; None where ``text`` has none around it."""
    stripped = text.strip()
    if not (stripped.startswith(QUOTES) and stripped.endswith(QUOTES) and len(stripped) >= 2 * len(QUOTES)):
        return None
    inner = stripped[len(QUOTES) : -len(QUOTES)]
    return inner.removeprefix("\n").removesuffix("\n")
