"""A chat in this process: a real engine on the fake model, a scripted reader, a display that notes down."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from reame_core.cli.chat.chat import Chat
from reame_core.cli.chat.conversation import Conversation
from reame_core.cli.chat.held_log import HeldLog
from reame_core.cli.chat.options import ChatOptions
from reame_core.cli.chat.saved import SavedChats
from reame_core.config import load_settings
from reame_core.testing import FakeBackend

from .fake_session import FakeSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from reame_core.cli.chat.display import AnswerView


@dataclass
class NotingDisplay:
    """What was shown, in order, as (kind, text)."""

    shown: list[tuple[str, str]] = field(default_factory=list)
    on_text: Callable[[str], None] = lambda _: None
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set once Ctrl-C has reached the engine."""

    def say(self, text: str) -> None:
        self.shown.append(("say", text))

    def remark(self, text: str) -> None:
        self.shown.append(("remark", text))

    def complain(self, text: str) -> None:
        self.shown.append(("error", text))

    @contextmanager
    def answer(self) -> Iterator[AnswerView]:
        view = _NotedAnswer(self)
        self.shown.append(("answer", ""))
        yield view

    def of(self, kind: str) -> list[str]:
        return [text for shown_as, text in self.shown if shown_as == kind]


class _NotedAnswer:
    def __init__(self, display: NotingDisplay) -> None:
        self._display = display

    def add(self, text: str) -> None:
        kind, before = self._display.shown[-1]
        self._display.shown[-1] = kind, before + text
        self._display.on_text(before + text)

    def paint(self, progress: str) -> float:
        if progress.startswith("stopping"):
            self._display.stopping.set()
        return 0.1

    def close(self) -> None: ...


class Script:
    """Types the given lines; a function is asked for its line when its turn has come."""

    def __init__(self, lines: Sequence[Any]) -> None:
        self._lines = list(lines)

    def read(self) -> str:
        if not self._lines:
            raise EOFError
        line = self._lines.pop(0)
        if callable(line):
            line = line()
        if isinstance(line, BaseException):
            raise line
        assert isinstance(line, str)
        return line


class ChatBench:
    """``talk`` types lines into one chat, which goes on at the next call."""

    def __init__(self, chat: Chat, display: NotingDisplay, backend: FakeBackend) -> None:
        self.chat = chat
        self.display = display
        self.backend = backend

    def talk(self, *lines: Any) -> list[tuple[str, str]]:
        before = len(self.display.shown)
        self.chat.run(Script(lines), HeldLog([]))
        return self.display.shown[before:]

    def said(self) -> list[tuple[str, str]]:
        return [(str(message["role"]), str(message["content"])) for message in self.chat.conversation.messages]


@pytest.fixture
def display() -> NotingDisplay:
    return NotingDisplay()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., ChatBench]]:
    """Makes chats: options of the fake backend, ``settings`` as in a file, ``seed``, ``stop``, ``system``."""
    sessions: list[FakeSession] = []

    def make(
        *,
        context: int = 1024,
        settings: dict[str, str] | None = None,
        seed: int | None = None,
        stop: tuple[str, ...] = (),
        system: str | None = None,
        backend: FakeBackend | None = None,
        display: NotingDisplay | None = None,
        **options: Any,
    ) -> ChatBench:
        backend = backend or FakeBackend(**{"cells": context} | options)
        sessions.append(FakeSession(backend, context))
        loaded = load_settings(environment={f"REAME_{name}": value for name, value in (settings or {}).items()})
        display = display or NotingDisplay()
        chat = Chat(
            sessions[-1],  # type: ignore[arg-type]
            Conversation(system),
            ChatOptions(loaded, seed=seed, stop=stop),
            SavedChats(tmp_path / "state" / "chats"),
            display,
        )
        return ChatBench(chat, display, backend)

    yield make
    for session in sessions:
        session.close()
