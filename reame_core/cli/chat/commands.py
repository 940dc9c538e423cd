"""The commands of a chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reame_core.cli.chat import shown
from reame_core.cli.chat.typed import COMMAND, argument
from reame_core.errors import ConfigError
from reame_core.models.wording import nearest, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from reame_core.cli.chat.chat import Chat

REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    arguments: str
    summary: str
    run: Callable[[Chat, str], None]
    words: Callable[[Chat], list[str]] = lambda _: []
    """What the first argument can be."""

    @property
    def usage(self) -> str:
        return f"{COMMAND}{self.name} {self.arguments}".rstrip()


class Leave(Exception):
    """The chat is over."""


def run_command(chat: Chat, text: str) -> None:
    """Do what ``text`` says. Raises Leave for the end of the chat, a ReameError for what cannot be done."""
    word, rest = _first_word(text)
    _command(word).run(chat, argument(rest))


def completions(chat: Chat, before: list[str]) -> list[str]:
    """Words that may follow ``before``, the first of which is a command's."""
    if not before:
        return [COMMAND + command.name for command in COMMANDS]
    if len(before) == 1:
        return next((command.words(chat) for command in COMMANDS if COMMAND + command.name == before[0]), [])
    return []


def _command(word: str) -> Command:
    name = word.removeprefix(COMMAND).lower()
    name = _ALIASES.get(name, name)
    for command in COMMANDS:
        if command.name == name:
            return command
    close = nearest(name, [command.name for command in COMMANDS], most=1)
    if close:
        raise ConfigError(f"there is no command {printable(word)}; did you mean {COMMAND}{close[0]}?")
    raise ConfigError(
        f"there is no command {printable(word)}; /help lists them (a message that begins with / needs a blank "
        "before it)"
    )


def _first_word(text: str) -> tuple[str, str]:
    """(the first word, what follows it)."""
    word, rest = [*text.split(None, 1), "", ""][:2]
    return word, rest


def _set(chat: Chat, text: str) -> None:
    name, value = _first_word(text)
    if not name:
        chat.display.say(shown.settings(chat))
        return
    option = chat.options.option(name)
    if not value:
        chat.display.say(shown.setting(chat, option))
        return
    chat.change(option, argument(value))
    chat.display.say(shown.setting_line(chat, option))


def _show(chat: Chat, text: str) -> None:
    topic = text.lower() or "settings"
    if topic not in shown.TOPICS:
        close = nearest(topic, shown.TOPICS, most=1)
        hint = f"did you mean /show {close[0]}?" if close else f"there is {', '.join(shown.TOPICS)}"
        raise ConfigError(f"/show knows no {printable(text)}; {hint}")
    chat.display.say(shown.TOPICS[topic](chat))


def _save(chat: Chat, text: str) -> None:
    name, how = _first_word(text)
    if how not in ("", REPLACE):
        raise ConfigError(f"after the name there can only be the word {REPLACE}, not {printable(how)}")
    chat.save(name, replace=bool(how))


def _load(chat: Chat, text: str) -> None:
    if text:
        chat.load(text)
        return
    names = chat.saved.names()
    chat.display.say(
        "saved: " + ", ".join(names) if names else "no chat is saved yet; /save NAME saves this one"
    )


def _clear(chat: Chat, text: str) -> None:
    _nothing("clear", text)
    chat.clear()


def _undo(chat: Chat, text: str) -> None:
    _nothing("undo", text)
    chat.undo()


def _retry(chat: Chat, text: str) -> None:
    _nothing("retry", text)
    chat.retry()


def _help(chat: Chat, text: str) -> None:
    if not text:
        chat.display.say(shown.help_text(COMMANDS))
        return
    name = text.removeprefix(COMMAND)
    if name.lower() in chat.options.known:
        chat.display.say(shown.setting(chat, chat.options.option(name)))
        return
    command = _command(name)
    chat.display.say(f"{command.usage}\n  {command.summary}")


def _bye(_: Chat, text: str) -> None:
    _nothing("bye", text)
    raise Leave


def _nothing(name: str, text: str) -> None:
    if text:
        raise ConfigError(f"{COMMAND}{name} takes nothing after it, but there is {printable(text)}")


COMMANDS: tuple[Command, ...] = (
    Command(
        "set",
        "[NAME [VALUE]]",
        "Change a setting; VALUE default: as at the start. Without VALUE: what it is. Without NAME: all.",
        _set,
        lambda chat: list(chat.options.known),
    ),
    Command(
        "show",
        "[settings|history|model]",
        "Show settings, what was said, or the model.",
        _show,
        lambda _: list(shown.TOPICS),
    ),
    Command(
        "save",
        "[NAME [replace]]",
        "Save what was said. Without NAME: under the one it has.",
        _save,
        lambda chat: chat.saved.names(),
    ),
    Command(
        "load",
        "[NAME]",
        "Go on with a saved chat. Without NAME: list them.",
        _load,
        lambda chat: chat.saved.names(),
    ),
    Command("clear", "", "Forget what was said; settings stay.", _clear),
    Command("undo", "", "Take back the last message and its answer.", _undo),
    Command("retry", "", "Ask the last message again.", _retry),
    Command(
        "help",
        "[COMMAND|NAME]",
        "Explain the commands, or one of them, or a setting.",
        _help,
        lambda chat: [*(command.name for command in COMMANDS), *chat.options.known],
    ),
    Command("bye", "", "End the chat (also Ctrl-D).", _bye),
)
_ALIASES = {"exit": "bye", "quit": "bye", "q": "bye", "?": "help", "h": "help", "new": "clear"}
