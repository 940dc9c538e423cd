"""Beginning a chat on this terminal."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from reame_core.cli.chat.chat import Chat
from reame_core.cli.chat.commands import completions
from reame_core.cli.chat.conversation import Conversation
from reame_core.cli.chat.display import PlainDisplay
from reame_core.cli.chat.held_log import held_log
from reame_core.cli.chat.options import ChatOptions
from reame_core.cli.chat.reader import PlainReader
from reame_core.cli.chat.saved import SavedChats
from reame_core.cli.models.fetching import bring_here
from reame_core.cli.options import plugin_selection
from reame_core.cli.terminal import note
from reame_core.host.state import state_folder
from reame_core.session import open_session

if TYPE_CHECKING:
    from pathlib import Path

    from reame_core.cli.chat.display import Display
    from reame_core.cli.chat.reader import Reader
    from reame_core.config import Settings


def start(
    settings: Settings, model: str, *, system: str | None, seed: int | None, stop: tuple[str, ...]
) -> None:
    """Load ``model``, fetching it if need be, and chat with it until the user leaves. Raises a ReameError where
    that cannot be done, before anything else for settings that cannot be used."""
    options = ChatOptions(settings, seed=seed, stop=stop)
    options.request(prompt=(0,), stops=())
    bring_here(settings, model)
    with open_session(
        settings, model, parallel=1, progress=note, selection=plugin_selection(settings)
    ) as session:
        state = state_folder()
        display = _display(options)
        chat = Chat(session, Conversation(system), options, SavedChats(state and state / "chats"), display)
        # The first interrupt must not make the second one deadly, as it does elsewhere.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with held_log() as log:
            display.remark(f"(chat with {chat.model}; /help explains, /bye or Ctrl-D ends)")
            chat.run(_reader(chat, state), log)


def plain_terminal() -> bool:
    """Whether escape codes are unwanted or not understood."""
    return os.environ.get("TERM", "dumb") in ("", "dumb", "unknown") or bool(os.environ.get("NO_COLOR"))


def _display(options: ChatOptions) -> Display:
    if plain_terminal():
        return PlainDisplay()
    from reame_core.cli.chat.markdown_display import StyledDisplay

    return StyledDisplay(lambda: options.switched_on("markdown"))


def _reader(chat: Chat, state: Path | None) -> Reader:
    if plain_terminal():
        return PlainReader()
    from reame_core.cli.chat.completion import CommandCompleter
    from reame_core.cli.chat.input_history import InputHistory
    from reame_core.cli.chat.prompt_reader import PromptReader

    history = InputHistory(state and state / "chat_history", lambda: chat.options.switched_on("history"))
    return PromptReader(history, CommandCompleter(lambda before: completions(chat, before)))
