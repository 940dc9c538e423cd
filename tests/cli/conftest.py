"""The command line in this process, with a session that answers what the test says."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

import reame_core
from reame_core.cli.app import reame
from reame_core.engine.backend import ModelInfo
from reame_core.engine.events import Event, Finished, TextDelta, Timings, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reame_core.config import Settings
    from reame_core.engine.request import Request
    from reame_core.plugins.selection import PluginSelection

Step = Event | BaseException


def delta(text: str, choice: int = 0) -> TextDelta:
    return TextDelta(choice, text, (len(text),))


def finished(choice: int = 0, **usage: Any) -> Finished:
    counted = Usage(**({"prompt": 5, "completion": 3, "computed": 5} | usage))
    return Finished(choice, "stop", counted, Timings(queued=1.0, prefill=50.0, decode=100.0), "\n")


@dataclass
class FakeSession:
    """A session and the record of what was asked of it."""

    steps: list[Step] = field(default_factory=lambda: [delta("Red, "), delta("blue."), finished()])
    """What the stream yields; an exception is raised in its place."""
    load_error: BaseException | None = None
    requests: list[Request] = field(default_factory=list)
    messages: list[list[dict[str, str]]] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    model: str = ""
    parallel: int | None = None
    settings: Settings | None = None
    selection: PluginSelection | None = None
    log: list[str] = field(default_factory=list)
    written_by_step: list[str] = field(default_factory=list)
    """What was on stdout whenever the next event was asked for."""
    stdout_now: Callable[[], str] = lambda: ""

    info = ModelInfo(
        name="tiny", vocabulary_size=300, trained_context=512, kv_cells=512, max_sequences=4, max_rows=64
    )
    description: dict[str, object] = field(default_factory=lambda: {"threads": 2, "extra_buffers": False})
    chat_stops: tuple[str, ...] = ()

    def chat_tokens(self, messages: list[dict[str, str]]) -> tuple[int, ...]:
        self.messages.append(messages)
        return (1, 2, 3)

    def raw_tokens(self, text: str) -> tuple[int, ...]:
        self.raw.append(text)
        return (4, 5)

    def stream(self, request: Request) -> Iterator[Event]:
        self.requests.append(request)
        try:
            for step in self.steps:
                self.written_by_step.append(self.stdout_now())
                if isinstance(step, BaseException):
                    raise step
                yield step
        finally:
            self.log.append("stream closed")

    @contextmanager
    def open(
        self,
        settings: Settings,
        model: str,
        *,
        parallel: int | None,
        progress: Callable[[str], None],
        selection: PluginSelection,
    ) -> Iterator[FakeSession]:
        self.settings, self.model, self.parallel, self.selection = settings, model, parallel, selection
        progress(f"loading {model}")
        if self.load_error is not None:
            raise self.load_error
        try:
            yield self
        finally:
            self.log.append("session closed")


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, without settings from this machine."""
    for name in os.environ:
        if name.startswith("REAME_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("REAME_HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def session(alone: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSession:
    fake = FakeSession()
    module = ModuleType("reame_core.session")
    module.open_session = fake.open  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(reame_core, "session", module, raising=False)
    return fake


@pytest.fixture
def invoke(alone: Path) -> Callable[..., Result]:
    """Run ``reame`` with these arguments. Whatever happens, there is no traceback and errors are one line."""

    def invoke(*arguments: str, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(reame, list(arguments), input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert "Traceback" not in result.output
        return result

    return invoke
