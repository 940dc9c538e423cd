"""What was typed in earlier chats, for the arrow keys."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from prompt_toolkit.history import FileHistory

from reame_core.host.owner_files import replace_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

log = logging.getLogger("reame.chat")

LARGEST = 1 << 20
"""Bytes; of a larger file the newer half is kept."""
LONGEST = 1 << 14
"""Characters; what is longer was pasted."""


class InputHistory(FileHistory):
    """The lines of ``path``, which only its owner can read. Losing it costs nothing: where it cannot be read or
    written there is no history beyond this chat, with one warning in the log. What begins with a blank is not
    written, nor anything while ``wanted`` says no."""

    def __init__(self, path: Path | None, wanted: Callable[[], bool]) -> None:
        super().__init__(str(path))
        self._path = path
        self._wanted = wanted

    def load_history_strings(self) -> Iterable[str]:
        if self._path is None or not self._wanted():
            return []
        try:
            if self._path.exists():
                self._shorten(self._path)
            return list(super().load_history_strings())
        except OSError as error:
            self._give_up(self._path, error)
            return []

    def store_string(self, string: str) -> None:
        if self._path is None or not self._wanted() or string.startswith(" ") or len(string) > LONGEST:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            self._path.chmod(0o600)
            super().store_string(string)
        except OSError as error:
            self._give_up(self._path, error)

    @staticmethod
    def _shorten(path: Path) -> None:
        if path.stat().st_size <= LARGEST:
            return
        text = path.read_text("utf-8", "replace")
        newer = text[text.find("\n\n", len(text) // 2) + 1 :]
        replace_text(path, newer)

    def _give_up(self, path: Path, error: OSError) -> None:
        log.warning("%s: %s; what is typed is not kept", path, error.strerror or error)
        self._path = None
