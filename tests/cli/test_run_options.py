"""Options of ``reame run`` that plugins add, and answers that are chosen among several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reame_core.engine.events import Failed, Won
from reame_core.errors import EngineError
from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection
from tests.cli.conftest import FakeSession, delta, finished

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    Invoke = Callable[..., Result]

PLUGIN = """
from dataclasses import replace
from reame_core.errors import InvalidRequest
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import FieldService, RunOption

def count(text):
    if not text.isdecimal():
        raise ValueError(f"must be a whole number, not {text!r}")
    return int(text)

@hookimpl
def run_options():
    return [
        RunOption("--tries", "reame.tries", "n", "N", "Try N times.", count, choices=True),
        RunOption("--hard", "reame.tries", "how", "HOW", "How hard to try."),
        RunOption("--flavour", "flavour", None, "NAME", "Nobody serves this."),
        RunOption("--seed", "seed", None, "N", "The core has this one."),
    ]

@hookimpl
def serve_fields(request):
    wanted = request.fields.get("reame.tries")
    if wanted is None:
        return None
    if wanted.get("n") == 13:
        raise InvalidRequest("reame.tries.n must not be 13", param="reame.tries.n")
    return FieldService(
        fields=frozenset({"reame.tries"}),
        extra=(request.endpoint, wanted),
        candidates=wanted["n"],
        sampling=lambda wish: [replace(wish, temperature=i / 10) for i in range(wanted["n"])],
        wave=2,
        report=lambda: {"tried": wanted["n"]},
        notes=lambda: [f"TRIED {wanted['n']}"],
    )
"""


@pytest.fixture
def folder(alone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of plugins, and no installed ones."""
    monkeypatch.setenv("REAME_PLUGINS__FOLDER", str(alone))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    (alone / "tries.py").write_text(PLUGIN)
    return alone


@pytest.fixture
def trying(folder: Path, session: FakeSession) -> FakeSession:
    """A session in which the second of three answers wins."""
    session.plugins = PluginManager(PluginSelection(folder=folder))  # type: ignore[attr-defined]
    session.steps = [delta("Red", 0), delta("Blue", 1), finished(0), finished(1), Won(1), finished(2)]
    return session


def test_hook_run_options(trying: FakeSession, invoke: Invoke) -> None:
    result = invoke("run", "tiny", "A colour?", "--tries", "3", "--hard", "very", "--seed", "5")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "Blue\n", "TRIED 3\n")
    [request] = trying.requests
    assert (request.n, request.select, request.wave) == (3, True, 2)
    assert [sampling.temperature for sampling in request.sampling_by_choice] == [0.0, 0.1, 0.2]
    assert request.extra == {"tries": ("chat", {"n": 3, "how": "very"})}
    assert request.sampling.seed == 5, "an option of the core stays its own"


def test_one_answer_of_several_as_json(trying: FakeSession, invoke: Invoke) -> None:
    result = invoke("run", "tiny", "A colour?", "--tries", "3", "--json", "--raw")
    told = json.loads(result.stdout)
    assert [choice["text"] for choice in told["choices"]] == ["Blue"]
    assert told["usage"]["completion_tokens"] == 9
    assert told["plugins"] == {"tries": {"tried": 3}}
    assert trying.requests[0].extra["tries"] == ("completions", {"n": 3})


def test_without_a_winner_the_first_that_ended(trying: FakeSession, invoke: Invoke) -> None:
    trying.steps = [delta("Red", 0), delta("Blue", 1), finished(0), finished(1), finished(2)]
    assert invoke("run", "tiny", "A colour?", "--tries", "3").stdout == "Red\n"


def test_a_candidate_that_fails(trying: FakeSession, invoke: Invoke) -> None:
    trying.steps = [Failed(choice, EngineError("broken")) for choice in range(3)]
    result = invoke("run", "tiny", "A colour?", "--tries", "3")
    assert result.exit_code == 1
    assert result.stderr.endswith("error: 3 of 3 answers failed, the first with: broken\n")


def test_without_such_options_no_plugin_is_asked(trying: FakeSession, invoke: Invoke) -> None:
    trying.steps = FakeSession().steps
    del trying.plugins  # type: ignore[attr-defined]
    assert invoke("run", "tiny", "A colour?").stdout == "Red, blue.\n"


@pytest.mark.parametrize(("configured", "parallel"), [(None, 6), (3, 3)])
def test_room_for_all_choices_unless_somebody_says_otherwise(
    trying: FakeSession, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, configured: int | None, parallel: int
) -> None:
    if configured is not None:
        monkeypatch.setenv("REAME_ENGINE__PARALLEL", str(configured))
    trying.steps = [finished(0), Won(0), *(finished(choice) for choice in range(1, 6))]
    invoke("run", "tiny", "A colour?", "--tries", "6")
    assert trying.parallel == parallel


def test_the_help_shows_them(folder: Path, invoke: Invoke) -> None:
    shown = invoke("run", "--help").stdout
    assert "--tries N" in shown
    assert "Try N times." in shown
    assert shown.count("--seed") == 1
    (folder / "reame.toml").write_text("[nonsense\n")
    assert "--seed" in invoke("run", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--tries", "many"],
            "invalid value for --tries: must be a whole number, not 'many'; see reame run --help",
        ),
        (["--tries", "13"], "reame.tries.n must not be 13"),
        (["--flavour", "mint"], "no plugin serves flavour here: its plugin could not be started"),
        (["--flavor", "3"], "no such option '--flavor'; did you mean '--flavour'?; see reame run --help"),
        (["--tries", "3", "-n", "2"], "n must be 1 where a winner is chosen among candidates"),
        (["--tries", "3", "--no-plugin", "tries"], "--tries belongs to a plugin that is not used here"),
    ],
)
def test_what_cannot_be(trying: FakeSession, invoke: Invoke, arguments: list[str], message: str) -> None:
    result = invoke("run", "tiny", "A colour?", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {message}\n")
    assert not trying.requests


def test_they_belong_to_requests(trying: FakeSession, invoke: Invoke) -> None:
    result = invoke("run", "tiny", "--serve", "--tries", "3")
    assert (result.exit_code, result.stderr) == (2, "error: --serve takes no --tries: requests have it\n")


@pytest.mark.parametrize("option", ["--best-of", "--judge", "--min-consensus"])
def test_an_option_of_a_plugin_that_is_missing(folder: Path, invoke: Invoke, option: str) -> None:
    needed = (
        f"error: {option} needs the plugin 'conclave' (the package reame-conclave), which is not used here\n"
    )
    for argument in ([option, "5"], [f"{option}=5"]):
        result = invoke("run", "tiny", "12*13-50?", *argument)
        assert (result.exit_code, result.stdout, result.stderr) == (2, "", needed)


def test_wrong_settings_are_reported_first(folder: Path, invoke: Invoke) -> None:
    (folder / "reame.toml").write_text("[nonsense]\n")
    result = invoke("run", "tiny", "hi", "--best-of", "5")
    assert result.exit_code == 2
    assert "nonsense" in result.stderr
