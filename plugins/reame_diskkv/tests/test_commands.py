"""``reame cache`` and ``reame warm``, on caches that the fake backend has filled."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import pytest
import reame_diskkv
from click.testing import CliRunner, Result
from reame_diskkv.commands import cache
from reame_diskkv.options import Options, read_options
from reame_diskkv.schedule import next_at, time_of_day, wait_for

import reame_core
from plugins.reame_diskkv.tests.driver import BLOCK, NAMESPACE, block_files, branch, server, words
from reame_core.cli.app import reame
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.worker import EngineWorker
from reame_core.plugins.api import PluginContext
from reame_core.testing import FakeBackend

Invoke = Callable[..., Result]
LONG = words(100)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the cache of this test is, as the settings say."""
    for name in list(os.environ):
        if name.startswith("REAME_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("REAME_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reame.toml").write_text(
        f'[plugins]\nonly = ["diskkv"]\n[plugins.diskkv]\nfolder = "{tmp_path}/kv"\n'
        f"block_tokens = {BLOCK}\nmin_tokens = 4\n"
    )
    return tmp_path / "kv"


@pytest.fixture
def invoke(folder: Path) -> Invoke:
    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(reame, list(arguments), input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return invoke


@pytest.fixture
def filled(folder: Path) -> Path:
    with server(folder) as first:
        first.ask(LONG)
        first.ask(branch(LONG, 40, 60))
    with server(folder, namespace={**NAMESPACE, "kv_cache_type": "q8_0"}) as second:
        second.ask(words(50))
    return folder


@pytest.fixture
def session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``open_session`` gives a session on the fake backend."""

    @contextmanager
    def open_session(settings: Any, model: str, **_: object) -> Iterator[SimpleNamespace]:
        backend = FakeBackend(cells=1024)
        plugin = reame_diskkv.plugin
        table = settings.values.plugins.tables["diskkv"]
        plugin.startup(PluginContext(backend.info, table, NAMESPACE, piece=backend.piece))
        hooks = EngineHooks(
            on_prefill=GuardedHook((("diskkv", plugin.on_prefill),)),
            persist=GuardedHook((("diskkv", plugin.persist),)),
        )
        worker = EngineWorker(Engine(backend, EngineOptions(context_length=512), hooks))
        try:
            yield SimpleNamespace(
                stream=worker.stream,
                raw_tokens=lambda text: (256, *backend.tokenize(text)),
                chat_tokens=lambda messages: (
                    256,
                    *(t for m in messages for t in backend.tokenize(f"<{m['role']}>{m['content']}")),
                ),
            )
        finally:
            worker.close()
            plugin.shutdown()

    module = ModuleType("reame_core.session")
    module.open_session = open_session  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "reame_core.session", module)
    monkeypatch.setattr(reame_core, "session", module, raising=False)


def test_the_commands_are_there(invoke: Invoke) -> None:
    listed = invoke("--help").stdout
    assert "cache" in listed
    assert "warm" in listed


@pytest.mark.parametrize("command", ["stats", "list", "verify", "prune", "clear"])
def test_without_a_cache_there_is_a_line_that_says_so(invoke: Invoke, folder: Path, command: str) -> None:
    result = invoke("cache", command, *(["--yes"] if command == "clear" else []))
    assert (result.exit_code, result.stderr) == (2, f"error: there is no cache in {folder} yet\n")


def test_stats(invoke: Invoke, filled: Path) -> None:
    text = invoke("cache", "stats").stdout
    assert str(filled) in text
    assert "q8_0" in text
    found = json.loads(invoke("cache", "stats", "--json").stdout)
    assert found["total"]["blocks"] == len(block_files(filled))
    assert found["total"]["file_bytes"] == sum(path.stat().st_size for path in block_files(filled))
    assert [model["settings"]["kv_cache_type"] for model in found["models"]] == ["f16", "q8_0"]
    [day] = found["days"]
    assert day["lookups"] == 3
    assert day["written_blocks"] == len(block_files(filled))


def test_list(invoke: Invoke, filled: Path) -> None:
    found = json.loads(invoke("cache", "list", "--json").stdout)
    assert [chain["tokens"] for chain in found] == [57, 67, 107]
    assert invoke("cache", "list", "--limit", "1").stdout.count("\n") == 2


def test_verify(invoke: Invoke, filled: Path) -> None:
    count = len(block_files(filled))
    result = invoke("cache", "verify")
    assert (result.exit_code, result.stdout) == (0, f"{count} blocks: 0 damaged and removed, 0 unreadable\n")
    path = block_files(filled)[1]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    result = invoke("cache", "verify", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {"blocks": count, "damaged": 1, "unreadable": 0}
    assert not path.exists()


def test_prune(invoke: Invoke, filled: Path) -> None:
    count = len(block_files(filled))
    assert json.loads(invoke("cache", "prune", "--json").stdout) == {"removed": 0}
    assert invoke("cache", "prune", "--max-size-mb", "0").stdout == f"{count} blocks removed\n"
    assert block_files(filled) == []


def test_prune_by_age(invoke: Invoke, filled: Path) -> None:
    assert invoke("cache", "prune", "--unused-days", "1").stdout == "0 blocks removed\n"
    assert "0 blocks" not in invoke("cache", "prune", "--unused-days", "0").stdout
    assert block_files(filled) == []


def test_clear_asks(invoke: Invoke, filled: Path) -> None:
    assert invoke("cache", "clear", stdin="n\n").exit_code == 130
    assert block_files(filled)
    assert "blocks removed" in invoke("cache", "clear", stdin="y\n").stdout
    assert block_files(filled) == []


def test_wrong_options_are_one_line(invoke: Invoke, folder: Path) -> None:
    for table, message in [
        ("max_size = 3", "plugins.diskkv has no setting 'max_size'; did you mean 'max_size_mb'? (there are: "),
        ("max_size_mb = -3", "plugins.diskkv.max_size_mb must be a number >= 0.0, not -3\n"),
        ('folder = ""', "plugins.diskkv.folder must be a text of length >= 1, not ''\n"),
        ('fsync = "perhaps"', "plugins.diskkv.fsync must be true or false, not 'perhaps'\n"),
    ]:
        Path("reame.toml").write_text(f"[plugins.diskkv]\n{table}\n")
        result = invoke("cache", "stats")
        assert result.exit_code == 2
        assert result.stderr.startswith(f"error: {message}")
        assert result.stderr.count("\n") == 1


def test_options_from_the_environment(invoke: Invoke, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REAME_PLUGINS__DISKKV__MAX_SIZE_MB", "12.5")
    assert json.loads(invoke("cache", "stats", "--json").stdout)["max_bytes"] == 12_500_000


def test_warm(invoke: Invoke, session: None, folder: Path) -> None:
    Path("one.txt").write_text("You are a careful accountant of a small town.\n")
    Path("two.jsonl").write_text(
        json.dumps({"prompt": "Once upon a time there was a king."})
        + "\n\n"
        + json.dumps({"messages": [{"role": "user", "content": "What is a king?"}]})
        + "\n"
    )
    result = invoke("warm", "fake", "one.txt", "two.jsonl", "--system", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert [each["name"] for each in found] == ["one.txt", "two.jsonl, line 1", "two.jsonl, line 3"]
    assert all(each["computed"] >= each["tokens"] - 3 > 10 for each in found)
    again = json.loads(invoke("warm", "fake", "one.txt", "two.jsonl", "--system", "--json").stdout)
    assert [each["computed"] for each in again] == [1, 1, 1]
    assert "tokens, 1 computed" in invoke("warm", "fake", "two.jsonl").stdout


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "a.json: no JSON: "),
        ("a.json", '{"messages": []}', "a.json: neither"),
        ("a.jsonl", '{"prompt": "x"}\n[]', "a.jsonl, line 2: neither"),
        ("a.txt", "\n", "a.txt: there is nothing in this file"),
    ],
)
def test_files_that_hold_no_prompt(
    invoke: Invoke, session: None, name: str, content: str, message: str
) -> None:
    Path(name).write_text(content)
    result = invoke("warm", "fake", name)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {message}")


def test_a_prompt_that_is_too_long(invoke: Invoke, session: None) -> None:
    Path("long.txt").write_text("x" * 2000)
    result = invoke("warm", "fake", "long.txt", "--raw")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: long.txt: the prompt has")


def test_where_the_cache_is_off(invoke: Invoke, session: None) -> None:
    Path("reame.toml").write_text("[plugins.diskkv]\nmax_size_mb = 0\n")
    Path("one.txt").write_text("Hello")
    result = invoke("warm", "fake", "one.txt")
    assert result.exit_code == 2
    assert "the disk cache is off" in result.stderr


@pytest.mark.parametrize(
    ("stored", "asked", "expected", "suspect"),
    [
        ("It is 10:31 now. Be kind to all.", "It is 10:42 now. Be kind to all.", "token", "a date or time"),
        ("Request 5f3a9c21b7 by Bob", "Request 77ab01cc2e by Bob", "token", "an identifier"),
        ('Use {"name": 1, "age": 2} now', 'Use {"age": 2, "name": 1} now', "token", "JSON whose keys"),
        ("You are kind.", "You are Kind.", "token", "capital letters"),
        ("You are a  kind man.", "You are a kind man.", "token", "white space"),
        ("The same text.", "The same text.", "all but the last one", None),
        ("The same text.", "Another one.", "token 2 is another one", None),
    ],
)
def test_explain(
    invoke: Invoke, session: None, stored: str, asked: str, expected: str, suspect: str | None
) -> None:
    Path("stored.txt").write_text(stored)
    invoke("warm", "fake", "stored.txt", "--raw")
    found = json.loads(invoke("cache", "explain", "fake", asked, "--raw", "--json").stdout)
    assert expected in found["reason"]
    assert found["stored"] < found["tokens"]
    if suspect is not None:
        assert suspect in " ".join(found["suspects"])
    text = invoke("cache", "explain", "fake", asked, "--raw").stdout
    assert text.startswith(f"{found['stored']} of {found['tokens']} tokens are stored: ")


def test_explain_names_other_models_settings_and_tenants(invoke: Invoke, session: None, folder: Path) -> None:
    prompt = (256, *b"a text that somebody else has computed already, long ago")
    with server(folder, namespace={**NAMESPACE, "kv_cache_type": "q8_0"}) as other:
        other.ask(prompt)
    with server(folder) as tenant:
        tenant.ask(prompt[:40], tenant="somebody")
    found = json.loads(invoke("cache", "explain", "fake", bytes(prompt[1:]).decode(), "--raw", "--json").stdout)
    assert found["stored"] == 0
    assert (
        "57 tokens of it are stored with other settings (kv_cache_type q8_0 instead of f16)"
        in found["suspects"]
    )
    assert "40 tokens of it are stored for another tenant" in found["suspects"]


def test_the_time_of_day() -> None:
    assert time_of_day("02:30") == time(2, 30)
    for wrong in ("2.30", "25:00", ""):
        with pytest.raises(click.BadParameter):
            time_of_day(wrong)
    now = datetime(2026, 3, 1, 12, 0)
    assert next_at(time(12, 1), now) == datetime(2026, 3, 1, 12, 1)
    assert next_at(time(12, 0), now) == datetime(2026, 3, 2, 12, 0)


def test_waiting_for_a_time_that_has_come() -> None:
    second = datetime(2026, 3, 1, 2, 29, 59)
    times = iter([second, second.replace(microsecond=999_999), datetime(2026, 3, 1, 2, 30)])
    told: list[str] = []
    wait_for(time(2, 30), told.append, lambda: next(times))
    assert told == ["waiting until 2026-03-01 02:30"]


def test_every_option_is_documented_with_its_default() -> None:
    page = (Path(__file__).parents[3] / "docs" / "diskkv.md").read_text("utf-8")
    [table] = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    documented = tomllib.loads(table)["plugins"]["diskkv"]
    read_options(documented)
    defaults = Options()
    assert documented.keys() == set(Options.__struct_fields__)
    for name, value in documented.items():
        if (default := getattr(defaults, name)) is not None:
            assert value == default, name


def test_every_command_is_documented(invoke: Invoke) -> None:
    page = (Path(__file__).parents[3] / "docs" / "diskkv.md").read_text("utf-8")
    for command in cache.commands:
        assert f"`reame cache {command}" in page
