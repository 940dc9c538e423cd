"""``reame arca`` on a real store."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from click.testing import CliRunner, Result
from reame_arca.administration import flush
from reame_arca.answers import layer as answers
from reame_arca.blocks import layer as blocks
from reame_arca.generations import layer as generations
from reame_arca.options import Options
from reame_arca.wishes import LAYERS

from plugins.reame_arca.tests.blocks.members import member
from plugins.reame_arca.tests.real_store import RealStore, free_port
from plugins.reame_diskkv.tests.driver import words
from reame_core.cli.app import reame

Invoke = Callable[..., Result]
SECRET = "a secret that nobody guesses"


@pytest.fixture
def invoke(store: RealStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """``reame`` with a settings file that names the store."""
    for name in list(os.environ):
        if name.startswith("REAME_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("REAME_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reame.toml").write_text(
        f'[plugins]\nonly = ["arca"]\n[plugins.arca]\nurl = "{store.url}"\ntimeout_ms = 5000\n'
    )

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(reame, ["arca", *arguments], input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return invoke


@pytest.fixture
def client(store: RealStore) -> redis.Redis:
    with store.client() as client:
        client.set("reame:answers:1", b"x" * 1000)
        client.set("reame:answers:2", b"x")
        client.set("reame:blocks:1", b"x")
        client.xadd("reame:generations:1", {"a": "b"})
        client.set("another", b"x")
        return client


def states(result: Result) -> dict[str, str]:
    return {each["what"]: each["state"] for each in json.loads(result.output)["findings"]}


def test_stats_tell_what_each_layer_takes(invoke: Invoke, client: redis.Redis) -> None:
    found = json.loads(invoke("stats", "--json").output)
    assert {each["layer"]: each["keys"] for each in found["layers"]} == {
        "answers": 2,
        "blocks": 1,
        "generations": 1,
    }
    assert found["layers"][0]["bytes"] > 1000
    assert found["used_bytes"] > 0
    shown = invoke("stats").output
    assert "answers" in shown
    assert "no limit" in shown


def test_flush_removes_what_is_ours(invoke: Invoke, client: redis.Redis) -> None:
    assert json.loads(invoke("flush", "--layer", "answers", "--yes", "--json").output) == {"removed": 2}
    refused = invoke("flush", stdin="n\n")
    assert refused.exit_code != 0
    assert client.exists("reame:blocks:1")
    assert json.loads(invoke("flush", "--layer", "blocks", "--yes", "--json").output) == {"removed": 1}
    client.set("reame:blocks:1", b"x")
    assert "2 keys removed" in invoke("flush", "--yes").output
    assert client.keys("*") == [b"another"]


def test_layers_are_called_what_their_keys_begin_with(store: RealStore, tmp_path: Path) -> None:
    assert {answers.LAYER, blocks.LAYER, generations.LAYER} <= set(LAYERS)
    options = Options(url=store.url)
    with member(tmp_path, store.url) as server, store.client() as found:
        server.ask(words(40))
        assert store.names()
        assert flush(found, options, "answers") == 0
        assert flush(found, options, "blocks") > 0
        assert not store.names()


def test_a_healthy_store(invoke: Invoke, store: RealStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.client() as client:
        client.config_set("maxmemory", 100_000_000)
        client.config_set("maxmemory-policy", "volatile-lru")
    monkeypatch.setenv("REAME_PLUGINS__ARCA__SECRET", SECRET)
    result = invoke("doctor", "--json")
    assert result.exit_code == 0
    assert set(states(result).values()) == {"ok"}
    assert json.loads(result.output)["healthy"]
    assert not store.names(), "nothing is left behind"
    assert "written, read again" in invoke("doctor").output


def test_what_could_be_better_is_advice(invoke: Invoke) -> None:
    result = invoke("doctor", "--json")
    assert result.exit_code == 0
    assert states(result)["memory"] == states(result)["secret"] == "advice"


def test_a_full_store_is_wrong(invoke: Invoke, store: RealStore) -> None:
    store.fill()
    result = invoke("doctor", "--json")
    assert result.exit_code == 1
    assert states(result)["values"] == "wrong"
    assert states(result)["memory"] == "advice"


def test_a_user_who_may_not_lock(invoke: Invoke, store: RealStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.client() as client:
        client.execute_command("ACL", "SETUSER", "reame", "on", ">word", "~reame:*", "+@all", "-eval", "-info")
    monkeypatch.setenv("REAME_PLUGINS__ARCA__USERNAME", "reame")
    monkeypatch.setenv("REAME_PLUGINS__ARCA__PASSWORD", "word")
    result = invoke("doctor", "--json")
    assert result.exit_code == 1
    assert states(result)["locks"] == "wrong"
    assert states(result)["values"] == "ok"


@pytest.mark.parametrize("command", ["stats", "doctor", "flush"])
def test_a_store_that_is_away_is_one_line(
    invoke: Invoke, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAME_PLUGINS__ARCA__URL", f"redis://127.0.0.1:{free_port()}")
    result = invoke(command)
    assert result.exit_code == 1
    assert "does not answer" in result.output
    assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize("command", ["stats", "doctor", "flush"])
def test_no_store_is_named(invoke: Invoke, tmp_path: Path, command: str) -> None:
    (tmp_path / "reame.toml").write_text("")
    result = invoke(command)
    assert result.exit_code == 2
    assert "plugins.arca.url" in result.output


def test_the_doctor_knows_similar_questions(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "similar" not in states(invoke("doctor", "--json"))
    monkeypatch.setenv("REAME_PLUGINS__ARCA__SIMILAR", "true")
    assert states(invoke("doctor", "--json"))["similar"] == "ok"
    monkeypatch.setenv("REAME_PLUGINS__ARCA__SIMILAR_THRESHOLD", "0.5")
    assert states(invoke("doctor", "--json"))["similar"] == "advice"


def test_questions_are_flushed_and_answers_stay(invoke: Invoke, client: redis.Redis) -> None:
    client.xadd("reame:similar:1", {"a": "b"})
    assert {"layer": "similar", "keys": 1}.items() <= json.loads(invoke("stats", "--json").output)["layers"][
        -1
    ].items()
    assert json.loads(invoke("flush", "--layer", "similar", "--yes", "--json").output) == {"removed": 1}
    assert client.exists("reame:answers:1")
