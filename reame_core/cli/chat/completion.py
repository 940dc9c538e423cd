"""What Tab completes: commands, and their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion

from reame_core.cli.chat.typed import is_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document


class CommandCompleter(Completer):
    """``words`` gives what may come after what stands before the last word."""

    def __init__(self, words: Callable[[list[str]], Iterable[str]]) -> None:
        self._words = words

    def get_completions(self, document: Document, _: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if not is_command(text) or "\n" in text:
            return
        *before, last = text.split(" ")
        for word in self._words(before):
            if word.startswith(last):
                yield Completion(word, start_position=-len(last))
