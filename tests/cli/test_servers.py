"""``reame ps`` and ``reame stats`` against real servers on the fake model."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest
import structlog

from reame_core.cli.servers.asking import reachable
from reame_core.cli.servers.ps_command import duration
from reame_core.errors import InvalidRequest
from reame_core.running import RunningServer, announced, running_servers
from tests.server.fake_model import settings_with
from tests.server.support import PATIENCE, chat_body, running

if TYPE_CHECKING:
    from click.testing import Result

    Invoke = Callable[..., Result]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is silent or slow because the machine is busy."""
    monkeypatch.setattr("reame_core.cli.servers.asking.PATIENCE_S", PATIENCE)


@pytest.fixture(autouse=True)
def _quiet_log() -> Iterator[None]:
    structlog.configure(processors=[structlog.testing.LogCapture()])
    yield
    structlog.reset_defaults()


@pytest.fixture
def folder(alone: Path) -> Path:
    """Where servers leave their addresses."""
    return alone.parent / "home" / "state" / "servers"


def test_a_server_is_found_while_it_runs(folder: Path) -> None:
    assert running_servers() == []
    with announced("http://127.0.0.1:1"):
        [server] = running_servers()
        assert (server.pid, server.address) == (os.getpid(), "http://127.0.0.1:1")
        [file] = folder.iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()) == []


def test_what_dead_servers_left_is_removed(folder: Path) -> None:
    folder.mkdir(parents=True)
    own = psutil.Process()
    remains = {
        "1.json": "{",
        "2.json": "[]",
        "3.json": json.dumps({"pid": 2**22 + 1, "address": "x", "since": 1.0}),
        # the number of a process that died was given to another one
        "4.json": json.dumps({"pid": own.pid, "address": "x", "since": own.create_time() - 3600}),
        "5.json": json.dumps({"pid": -1, "address": "x", "since": 1.0}),
        "6.json": json.dumps({"pid": own.pid, "address": "alive", "since": own.create_time()}),
    }
    for name, text in remains.items():
        (folder / name).write_text(text)
    assert [server.address for server in running_servers()] == ["alive"]
    assert [file.name for file in folder.iterdir()] == ["6.json"]


def test_a_server_that_cannot_be_announced_runs_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("REAME_HOME", "/proc/none")
    with announced("http://127.0.0.1:1"):
        pass
    assert "reame ps will not find this server" in caplog.text
    assert running_servers() == []


def test_ps(invoke: Invoke, alone: Path) -> None:
    nothing = invoke("ps")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert nothing.stderr == "no server of this user runs here; reame serve starts one\n"
    assert invoke("ps", "--json").stdout == "[]\n"
    with running() as server, announced(server.url):
        [shown] = json.loads(invoke("ps", "--json").stdout)
        assert shown["up_s"] >= 0
        assert (shown["pid"], shown["address"], shown["model"]) == (os.getpid(), server.url, "fake")
        assert shown["state"] == "ok"
        heading, row = invoke("ps").stdout.splitlines()
        assert heading.split() == ["PID", "ADDRESS", "MODEL", "STATE", "UP"]
        assert row.split()[:4] == [str(os.getpid()), server.url, "fake", "ok"]
    with announced(server.url):
        assert json.loads(invoke("ps", "--json").stdout)[0]["state"] == "silent"


def test_stats_of_the_only_server(invoke: Invoke, alone: Path) -> None:
    with running() as server, announced(server.url):
        fresh = invoke("stats")
        assert fresh.exit_code == 0, fresh.stderr
        assert re.search(r"prompt tokens +none yet\n", fresh.stdout)
        for _ in range(2):
            body = chat_body("Hi", max_tokens=5, ignore_eos=True)
            answer = httpx.post(server.url + "/v1/chat/completions", json=body, timeout=PATIENCE)
            assert answer.status_code == 200
        found = json.loads(invoke("stats", "--json").stdout)
        usage = answer.json()["usage"]
        assert found["model"] == "fake"
        assert sum(found["prompt_tokens"].values()) == 2 * usage["prompt_tokens"]
        assert found["prompt_tokens"]["ram"] == usage["prompt_tokens_details"]["cached_tokens"]
        assert found["generated_tokens"] == 2 * usage["completion_tokens"]
        assert sum(found["requests"]["answered"].values()) == 2
        assert found["first_token_s"] > 0
        assert found["plugin_errors"] == {}
        lines = dict(line.split("  ", 1) for line in invoke("stats").stdout.splitlines())
        assert lines["address"].strip() == server.url
        assert lines["requests"].strip() == "0 running, 0 waiting"
        assert "ram (" in lines["prompt tokens"]


def test_stats_by_address_and_with_keys(invoke: Invoke, alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # nothing between this machine and itself goes through a proxy
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with running(settings=settings_with(api_key=["ada:sesame"])) as server:
        refused = invoke("stats", server.url)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "wants a key: give it by --api-key or REAME_SERVER__API_KEY" in refused.stderr
        assert invoke("stats", server.url + "/v1", "--api-key", "sesame").exit_code == 0
        monkeypatch.setenv("REAME_SERVER__API_KEY", "ada:sesame")
        result = invoke("stats", server.url.removeprefix("http://"))
        assert result.exit_code == 0
        assert "sesame" not in result.output


def test_stats_of_a_server_without_metrics(invoke: Invoke, alone: Path) -> None:
    with running(settings=settings_with(metrics="off")) as server:
        result = invoke("stats", server.url)
        assert result.exit_code == 1
        assert "has no metrics (status 404); see server.metrics" in result.stderr


def test_stats_without_a_server(invoke: Invoke, alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = invoke("stats")
    assert (none.exit_code, none.stderr) == (
        2,
        "error: no server of this user runs here: give the address of one\n",
    )
    silent = invoke("stats", "127.0.0.1:1")
    assert silent.exit_code == 1
    assert silent.stderr.startswith("error: no server answers at http://127.0.0.1:1 (")
    two = [RunningServer(i, f"http://127.0.0.1:{i}", float(i)) for i in (1, 2)]
    monkeypatch.setattr("reame_core.running.running_servers", lambda: two)
    several = invoke("stats")
    assert several.exit_code == 2
    assert "2 servers run here: say which, http://127.0.0.1:1, http://127.0.0.1:2" in several.stderr


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://h/v1/", "http://h"),
        ("http://0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("http://[::]:8080", "http://[::1]:8080"),
        ("https://chat.example.org/reame", "https://chat.example.org/reame"),
    ],
)
def test_where_a_server_is_reached(address: str, target: str) -> None:
    assert reachable(address) == target


@pytest.mark.parametrize("address", ["", "http://", "ftp://h", "http://[::1", "h:port"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(InvalidRequest, match="is not the address of a server"):
        reachable(address)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min 0 s"),
        (3 * 3600 + 12 * 60 + 5, "3 h 12 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
