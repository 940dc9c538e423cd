"""Saved conversations: one file each, in the form of a request to the OpenAI API."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reame_core.cli.chat.conversation import PARTIAL, Conversation
from reame_core.errors import ConfigError, UsageError
from reame_core.host.owner_files import replace_text
from reame_core.models.messages import normalise
from reame_core.models.wording import alternatives, nearest, printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SUFFIX = ".json"
LARGEST_MB = 64
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_LISTED = 20


@dataclass(frozen=True, slots=True)
class SavedChat:
    conversation: Conversation
    fields: Mapping[str, object]
    """What the file says besides: the model, the settings of sampling."""


class SavedChats:
    """Those in ``folder``, which is made when the first one is saved. Raises UsageError for whatever cannot be
    done, and says what can."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Of all that can be loaded."""
        try:
            files = list(self._place.glob(f"*{SUFFIX}"))
        except (OSError, UsageError):
            return []
        return sorted(file.stem for file in files if _NAME.fullmatch(file.stem))

    def exists(self, name: str) -> bool:
        return self._file(name).exists()

    def save(self, name: str, conversation: Conversation, fields: Mapping[str, object]) -> Path:
        """Write everything that was said, and ``fields`` beside it, for the owner alone."""
        path = self._file(name)
        text = json.dumps({**fields, "messages": conversation.everything()}, ensure_ascii=False, indent=1)
        try:
            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_text(path, text + "\n", durable=True)
        except OSError as error:
            raise ConfigError(f"{printable(path)} cannot be written: {error.strerror or error}") from None
        return path

    def load(self, name: str) -> SavedChat:
        """What was saved as ``name``, or what another program has put there: an object with ``messages`` or
        the list alone."""
        path = self._file(name)
        try:
            with path.open("rb") as file:
                content = file.read((LARGEST_MB << 20) + 1)
        except FileNotFoundError:
            raise ConfigError(f"there is no saved chat {name}; {self._hint(name)}") from None
        except OSError as error:
            raise ConfigError(f"{printable(path)} cannot be read: {error.strerror or error}") from None
        if len(content) > LARGEST_MB << 20:
            raise ConfigError(f"{printable(path)} is larger than the {LARGEST_MB} MB that a chat can have")
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            raise ConfigError(f"{printable(path)} is damaged: it holds no JSON") from None
        fields = document if isinstance(document, dict) else {"messages": document}
        try:
            return SavedChat(_conversation(fields.get("messages")), fields)
        except UsageError as error:
            raise ConfigError(f"{printable(path)}: {error}") from None

    @property
    def _place(self) -> Path:
        if self._folder is None:
            raise ConfigError("there is no folder for saved chats: set HOME or REAME_HOME")
        return self._folder

    def _file(self, name: str) -> Path:
        return self._place / f"{checked_name(name)}{SUFFIX}"

    def _hint(self, name: str) -> str:
        names = self.names()
        close = nearest(name, names, most=1)
        if close:
            return f"did you mean {close[0]}?"
        if not names:
            return "none is saved yet"
        return f"there is {alternatives(names)}" if len(names) <= _LISTED else "/load lists them"


def checked_name(name: str) -> str:
    """The name that is meant, without a suffix. Raises ConfigError where it is none: it may name nothing
    outside of the folder."""
    stem = name.removesuffix(SUFFIX)
    if not _NAME.fullmatch(stem):
        raise ConfigError(
            f"{printable(name)} is no name for a chat: use up to 64 letters (a to z), digits, _, . and -, the "
            "first no . and no -"
        )
    return stem


def _conversation(messages: object) -> Conversation:
    checked = normalise(messages)
    for before, message in zip(messages if isinstance(messages, list) else (), checked, strict=False):
        if not (isinstance(before, dict) and before.get(PARTIAL) is True):
            message.pop(PARTIAL, None)
    conversation = Conversation()
    if checked[0]["role"] == "system":
        conversation.system = str(checked.pop(0)["content"])
    if checked and checked[-1]["role"] == "user":
        conversation.unanswered = str(checked.pop()["content"])
    conversation.messages = checked
    return conversation
