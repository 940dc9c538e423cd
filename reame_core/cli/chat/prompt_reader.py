"""Reading what is typed, with editing, history and completion: prompt_toolkit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.shortcuts import CompleteStyle

from reame_core.cli.chat.reader import CONTINUATION, PROMPT, Discarded
from reame_core.cli.chat.typed import is_unfinished

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyPressEvent


class PromptReader:
    """Enter sends, unless triple quotes are open; Alt-Enter, or Esc and Enter, begins a new line. What is
    pasted is not sent before Enter, whatever it holds. Ctrl-J is Enter: what was typed while an answer came
    arrives with it."""

    def __init__(self, history: History, completer: Completer) -> None:
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            prompt_continuation=_before_line,
            history=history,
            completer=completer,
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            reserve_space_for_menu=0,
            key_bindings=_bindings(),
            include_default_pygments_style=False,
            enable_suspend=True,
        )

    def read(self) -> str:
        return self._session.prompt()


def _before_line(width: int, line: int, folded: int) -> str:
    return CONTINUATION if folded == 0 else " " * width


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter", filter=~_searching())
    @bindings.add("c-j", filter=~_searching())
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_unfinished(buffer.text):
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter")
    @bindings.add("escape", "c-j")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @bindings.add("c-c")
    @bindings.add("<sigint>")
    def _(event: KeyPressEvent) -> None:
        typed = bool(event.current_buffer.text)
        event.app.exit(exception=Discarded() if typed else KeyboardInterrupt(), style="class:aborting")

    return bindings


def _searching() -> Condition:
    from prompt_toolkit.application import get_app

    return Condition(lambda: get_app().layout.is_searching)
