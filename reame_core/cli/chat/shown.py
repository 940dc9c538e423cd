"""What ``/show`` and ``/help`` say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.cli.chat.conversation import PARTIAL
from reame_core.cli.chat.status import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_core.cli.chat.chat import Chat
    from reame_core.cli.chat.commands import Command
    from reame_core.cli.chat.options import Option

KEYS = (
    ("Enter", "sends"),
    ("Alt-Enter, Esc Enter", "a new line"),
    ('"""', "begins and ends a message of several lines"),
    ("Ctrl-C", "stops the answer; at the prompt: throws away what is typed"),
    ("Ctrl-D", "ends the chat"),
    ("Up, Ctrl-R", "what was typed before"),
    ("Tab", "completes commands"),
)


def help_text(commands: Sequence[Command]) -> str:
    rows = [*((command.usage, command.summary) for command in commands), ("", ""), *KEYS]
    return _table(rows)


def settings(chat: Chat) -> str:
    return _table([(option.name, option.show(chat.value(option))) for option in chat.options.known.values()])


def setting(chat: Chat, option: Option) -> str:
    return f"{setting_line(chat, option)}\n  {option.description}\n  {option.expected}"


def setting_line(chat: Chat, option: Option) -> str:
    return f"{option.name} is {option.show(chat.value(option))}"


def history(chat: Chat) -> str:
    messages = chat.conversation.everything()
    if not messages:
        return "nothing has been said yet"
    return "\n\n".join(
        f"[{message['role']}{', stopped' if message.get(PARTIAL) else ''}]\n{message['content']}"
        for message in messages
    )


def model(chat: Chat) -> str:
    rows = [("name", chat.model)]
    rows += [(name.replace("_", " "), str(value)) for name, value in chat.session.description.items()]
    rows.append(("said so far", counted(chat.conversation.turns, "turn")))
    return _table(rows)


TOPICS = {"settings": settings, "history": history, "model": model}


def _table(rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}".rstrip() for name, text in rows)
