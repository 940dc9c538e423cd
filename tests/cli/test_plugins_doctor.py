"""``reame plugins doctor``: by a probe, and of a running server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from reame_core.doctor.plugins.findings import PACE_US
from reame_core.doctor.plugins.report import duration
from reame_core.engine.verification import CoreVerifier
from reame_core.plugins.manager import PluginManager
from reame_core.running import announced
from reame_core.testing import FakeBackend
from tests.server.fake_model import FakeModel, settings_with
from tests.server.support import PATIENCE, running
from tests.server.test_plugin_conditions import Oracle

if TYPE_CHECKING:
    from click.testing import Result

    Invoke = Callable[..., Result]

DRAFTER = """
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Draft
reame_api = "0.1"
@hookimpl
def propose_draft(sequence, limit):
    return Draft([int(sequence.tokens[-1])] * limit)
"""
CACHE = """
from pathlib import Path
from reame_core.errors import ConfigError
from reame_core.hookspecs import hookimpl
@hookimpl
def startup(context):
    if "size" in context.options:
        raise ConfigError("plugins.cache.size is no option")
    Path(str(context.options.get("folder", "."))).joinpath("touched").parent.mkdir(parents=True)
    Path(str(context.options["folder"]), "touched").touch()
@hookimpl
def on_prefill(sequence, kv):
    return None
"""
OTHER_CACHE = "from reame_core.hookspecs import hookimpl\n@hookimpl\ndef on_prefill(): return None\n"
RAISING = "from reame_core.hookspecs import hookimpl\n@hookimpl\ndef persist(): 1 / 0\n"
NEWER = "from reame_core.hookspecs import hookimpl\nreame_api = '0.99'\n@hookimpl\ndef shutdown(): pass\n"
OPTION = """
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import RunOption
@hookimpl
def run_options():
    return [RunOption("--{name}", "reame.x", None, "X", "Help.")]
"""


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is silent or slow because the machine is busy."""
    monkeypatch.setattr("reame_core.cli.servers.asking.PATIENCE_S", PATIENCE)
    monkeypatch.setattr("reame_core.doctor.plugins.findings.PACE_US", dict.fromkeys(PACE_US, 1e9))


@pytest.fixture(autouse=True)
def _quiet_log() -> Iterator[None]:
    structlog.configure(processors=[structlog.testing.LogCapture()])
    yield
    structlog.reset_defaults()


@pytest.fixture
def doctor(invoke: Invoke, alone: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, Any]]:
    """``doctor("[plugins.cache]…", cache=CODE)``: the exit status and the answer as data."""
    (alone / "mine").mkdir()
    monkeypatch.delenv("REAME_PLUGINS", raising=False)

    def run(*arguments: str, settings: str = "", **plugins: str) -> tuple[int, Any]:
        for name, code in plugins.items():
            (alone / "mine" / f"{name}.py").write_text(code)
        names = json.dumps(sorted(plugins))
        (alone / "reame.toml").write_text(f"[plugins]\nfolder = 'mine'\nonly = {names}\n{settings}")
        result = invoke("plugins", "doctor", "--json", *arguments)
        assert result.exit_code in (0, 1), result.stderr
        return result.exit_code, json.loads(result.stdout)

    return run


def by_name(answer: Any) -> dict[str, Any]:
    return {plugin["name"]: plugin for plugin in answer["plugins"]}


def test_a_probe_of_plugins_that_are_well(doctor: Callable[..., tuple[int, Any]]) -> None:
    code, answer = doctor(drafter=DRAFTER)
    assert (code, answer["findings"]) == (0, [])
    assert answer["source"] == "a few requests to a fake model"
    drafter = by_name(answer)["drafter"]
    assert (drafter["state"], drafter["api"]) == ("active", "0.1")
    [hook] = drafter["hooks"]
    assert hook["calls"] > 20
    assert hook["mean_us"] > 0
    assert drafter["help"]["drafted_tokens"] > 0


def test_a_probe_leaves_nothing_behind(doctor: Callable[..., tuple[int, Any]], alone: Path) -> None:
    code, answer = doctor(cache=CACHE, settings=f"[plugins.cache]\nfolder = '{alone / 'cells'}'\n")
    assert (code, by_name(answer)["cache"]["state"]) == (1, "failed"), "its folder is there at the second start"
    assert not (alone / "cells").exists()


def test_a_probe_calls_no_store(doctor: Callable[..., tuple[int, Any]]) -> None:
    """Not even one that is not there: the plugin would say so."""
    far = """
from reame_core.hookspecs import hookimpl
@hookimpl
def startup(context):
    assert dict(context.options) == {"size": 3}
"""
    code, answer = doctor(far=far, settings="[plugins.far]\nurl = 'redis://127.0.0.1'\nsize = 3\n")
    assert (code, by_name(answer)["far"]["state"]) == (0, "active")
    [found] = answer["findings"]
    text = "plugins.far.url was left out: a probe calls nobody; --model does"
    assert (found["level"], found["plugin"], found["text"]) == ("remark", "far", text)


@pytest.mark.parametrize(
    ("plugins", "settings", "level", "text"),
    [
        ({"newer": NEWER}, "", "problem", "upgrade Reame"),
        ({"raising": RAISING}, "", "problem", "hook 'persist' is switched off: 3 failures in a row"),
        ({"cache": CACHE}, "[plugins.cache]\nsize = 3\n", "problem", "plugins.cache.size is no option"),
        ({"drafter": DRAFTER}, "[plugins.draftre]\nx = 1\n", "problem", "did you mean 'drafter'?"),
        ({"misspelt": "import nothing_of_that_name"}, "", "problem", "ModuleNotFoundError"),
        (
            {"a": OPTION.format(name="shout"), "b": OPTION.format(name="shout")},
            "",
            "problem",
            "the option --shout is not used: a has one of that name",
        ),
        (
            {"a": OPTION.format(name="top-p")},
            "",
            "problem",
            "the option --top-p is not used: Reame itself has one of that name",
        ),
        ({"one": OTHER_CACHE, "two": OTHER_CACHE}, "", "remark", "asked in this order: one, two"),
    ],
    ids=["newer", "raising", "option", "table", "import", "two options", "own option", "order"],
)
def test_what_is_found(
    doctor: Callable[..., tuple[int, Any]], plugins: dict[str, str], settings: str, level: str, text: str
) -> None:
    code, answer = doctor(settings=settings, **plugins)
    assert code == (1 if level == "problem" else 0)
    found = [finding for finding in answer["findings"] if text in finding["text"]]
    assert [finding["level"] for finding in found] == [level], answer["findings"]


def test_a_plugin_that_refuses_its_options_does_not_hide_the_others(
    doctor: Callable[..., tuple[int, Any]],
) -> None:
    _, answer = doctor(settings="[plugins.cache]\nsize = 3\n", cache=CACHE, drafter=DRAFTER)
    assert by_name(answer)["cache"]["state"] == "failed"
    assert by_name(answer)["drafter"]["hooks"][0]["calls"] > 0


def test_for_people(doctor: Callable[..., tuple[int, Any]], invoke: Invoke) -> None:
    doctor(drafter=DRAFTER, raising=RAISING)
    result = invoke("plugins", "doctor")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Reame 0.")
    assert any(line.split()[:2] == ["propose_draft", "drafter"] for line in lines)
    assert any(line.startswith("! raising: hook 'persist' is switched off") for line in lines)
    assert "Nothing is wrong." not in result.stdout


def test_of_the_server_that_runs_here(doctor: Callable[..., tuple[int, Any]]) -> None:
    backend = FakeBackend(cells=4096, replies={"Who?": "Nobody."})
    builtins = (("oracle", Oracle()), ("core", CoreVerifier()))
    model = FakeModel(backend, PluginManager(builtins=builtins, entry_points=[]))
    with running(model, settings_with(api_key="secret")) as server, announced(server.url):
        headers = {"authorization": "Bearer secret"}
        body = {"model": "fake", "messages": [{"role": "user", "content": "Who?"}]}
        server.http.post("/v1/chat/completions", json=body, headers=headers)
        code, answer = doctor("--api-key", "secret", drafter=DRAFTER)
        assert (code, answer["source"]) == (0, f"server {server.url}")
        assert by_name(answer)["oracle"]["hooks"][0]["calls"] > 0
        assert "drafter" not in by_name(answer)
        assert doctor("--probe", drafter=DRAFTER)[1]["source"] == "a few requests to a fake model"
        assert doctor(server.url + "/v1", "--api-key", "secret")[1]["source"] == f"server {server.url}"


def test_wrong_addresses_and_keys(invoke: Invoke, alone: Path) -> None:
    with running(FakeModel(FakeBackend()), settings_with(api_key="secret")) as server:
        refused = invoke("plugins", "doctor", server.url)
        assert (refused.exit_code, "wants a key" in refused.stderr) == (2, True)
        both = invoke("plugins", "doctor", server.url, "--probe")
        assert (both.exit_code, "not both" in both.stderr) == (2, True)
    with running(loaded=False) as server:
        loading = invoke("plugins", "doctor", server.url)
        assert (loading.exit_code, "still being loaded" in loading.stderr) == (1, True)
    gone = invoke("plugins", "doctor", "127.0.0.1:1")
    assert (gone.exit_code, "no server answers" in gone.stderr) == (1, True)


@pytest.mark.model
def test_with_a_real_model(doctor: Callable[..., tuple[int, Any]], reame_tiny_model: Path) -> None:
    code, answer = doctor("--model", str(reame_tiny_model), drafter=DRAFTER)
    assert code == 0
    assert by_name(answer)["drafter"]["hooks"][0]["calls"] > 0


@pytest.mark.parametrize(
    ("microseconds", "text"), [(0.26, "0.3 µs"), (999.4, "999.4 µs"), (1500, "1.5 ms"), (2_500_000, "2.5 s")]
)
def test_durations(microseconds: float, text: str) -> None:
    assert duration(microseconds) == text
