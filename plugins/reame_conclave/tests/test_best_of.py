"""Votes from Python and from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner, Result
from reame_conclave.best_of import best_of
from reame_conclave.plugin import NAME

from plugins.reame_conclave.tests.support import started
from reame_core.cli.app import reame
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.verification import CoreVerifier
from reame_core.engine.worker import EngineWorker
from reame_core.errors import InvalidRequest, PluginError
from reame_core.plugins.manager import PluginManager
from reame_core.testing import FakeBackend
from tests.engine.support import greedy, plain, prompt

REPLIES = {"12*13-50?": "12 * 13 - 50 = 106"}


class FakeSession:
    """A session on the fake backend."""

    def __init__(self, *plugins: tuple[str, object], fail_on: tuple[int, ...] = ()) -> None:
        self.plugins = PluginManager(builtins=(*plugins, ("core", CoreVerifier())), entry_points=[])
        backend = FakeBackend(cells=2048, replies=REPLIES, fail_on=fail_on)
        options = EngineOptions(context_length=256, parallel=5)
        self.worker = EngineWorker(Engine(backend, options, self.plugins.engine_hooks()))
        self.info = backend.info
        self.description: dict[str, object] = {}
        self.chat_stops: tuple[str, ...] = ()
        self.stream = self.worker.stream

    def chat_tokens(self, messages: list[dict[str, str]]) -> tuple[int, ...]:
        return prompt(messages[-1]["content"])

    @contextmanager
    def open(self, *_: Any, **__: Any) -> Iterator[FakeSession]:
        yield self


@pytest.fixture
def session() -> Iterator[FakeSession]:
    fake = FakeSession((NAME, started()))
    yield fake
    fake.worker.close()


def test_a_vote_from_python(session: FakeSession) -> None:
    elected = best_of(session, greedy("12*13-50?", 40), n=5, stop="never")
    assert elected.text == "12 * 13 - 50 = 106"
    assert len(elected.candidates) == 5
    assert elected.candidates[0] == plain(greedy("12*13-50?", 40), cells=2048, replies=REPLIES)[0][0]
    assert elected.finished.reason == "stop"
    assert (elected.report["answer"], elected.report["winner"]) == (
        "106",
        elected.candidates.index(elected.text),
    )
    with pytest.raises(InvalidRequest, match=r"reame\.conclave\.n "):
        best_of(session, greedy("12*13-50?", 40), n=0)


def test_a_session_without_the_plugin() -> None:
    session = FakeSession()
    with pytest.raises(PluginError, match="this session does not use the plugin 'conclave'"):
        best_of(session, greedy("12*13-50?", 10), n=2)
    session.worker.close()


def test_a_candidate_that_fails_is_an_error() -> None:
    session = FakeSession((NAME, started()), fail_on=(2,))
    with pytest.raises(Exception, match="told to fail here"):
        best_of(session, greedy("12*13-50?", 10), n=2)
    session.worker.close()


def run(monkeypatch: pytest.MonkeyPatch, session: FakeSession, *arguments: str) -> Result:
    monkeypatch.setenv("REAME_HOME", "/nonexistent")
    monkeypatch.setattr("reame_core.session.open_session", session.open)
    return CliRunner().invoke(reame, ["run", "fake", "12*13-50?", "--max-tokens", "40", *arguments])


def test_the_winner_on_stdout_and_the_vote_on_stderr(
    monkeypatch: pytest.MonkeyPatch, session: FakeSession
) -> None:
    result = run(monkeypatch, session, "--best-of", "5")
    assert result.exit_code == 0, result.output
    assert result.stdout == "12 * 13 - 50 = 106\n"
    line = result.stderr.strip()
    assert line.startswith("CONCLAVE consensus=")
    assert "/5 by=votes tokens=" in line
    assert "\n" not in line


def test_json_and_too_few_who_agree(monkeypatch: pytest.MonkeyPatch, session: FakeSession) -> None:
    result = run(monkeypatch, session, "--best-of", "3", "--judge", "number", "--min-consensus", "1", "--json")
    told = json.loads(result.stdout)
    assert told["choices"][0]["text"] == "12 * 13 - 50 = 106"
    conclave = told["plugins"]["conclave"]
    assert (conclave["n"], conclave["judge"]) == (3, "number")
    assert result.stderr.rstrip().endswith("escalate") == conclave["escalate"]
    assert told["usage"]["completion_tokens"] == conclave["tokens"]["generated"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--best-of", "0"], "invalid value for --best-of: must be a whole number from 1 to 128, not '0'"),
        (["--best-of", "-1"], "invalid value for --best-of: must be a whole number from 1 to 128, not '-1'"),
        (
            ["--best-of", "many"],
            "invalid value for --best-of: must be a whole number from 1 to 128, not 'many'",
        ),
        (["--best-of", "100"], "reame.conclave.n must be from 1 to 16, not 100"),
        (["--judge", "numbers"], "did you mean 'number'?"),
        (["--min-consensus", "5"], "invalid value for --min-consensus: must be a share from 0 to 1, not '5'"),
        (["--best-of", "5", "-n", "2"], "n must be 1 where a winner is chosen among candidates"),
        (["--best-of", "5", "--no-plugin", "conclave"], "--best-of needs the plugin 'conclave'"),
    ],
)
def test_what_cannot_be(
    monkeypatch: pytest.MonkeyPatch, session: FakeSession, arguments: list[str], message: str
) -> None:
    result = run(monkeypatch, session, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_without_the_plugin(monkeypatch: pytest.MonkeyPatch, session: FakeSession) -> None:
    monkeypatch.setenv("REAME_PLUGINS", "")
    result = run(monkeypatch, session, "--best-of", "5")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "error: --best-of needs the plugin 'conclave' (the package reame-conclave), which is not used here\n"
    )
