"""``reame memo``, and the plugin's settings."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from reame_memo.commands import memo
from reame_memo.database import NAME
from reame_memo.options import Options
from reame_memo.store import Limits, Store
from reame_memo.tenants import tenant_digest

from reame_core.cli.group import ReameGroup
from reame_core.config.plugin_options import read_options
from reame_core.errors import ConfigError

Reame = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REAME_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache" / "memo"


@pytest.fixture
def reame(folder: Path) -> Reame:
    cli = ReameGroup("reame")
    cli.add_command(memo)

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(cli, ["memo", *map(str, arguments)])

    return run


def fill(folder: Path) -> None:
    store = Store(folder, Limits(1e9, 1e9))
    for number, tenant in enumerate(("", "", "alice")):
        assert store.put(bytes([number]) * 32, tenant_digest(tenant), b"x" * 100)
    store.close()


def test_stats(reame: Reame, folder: Path) -> None:
    assert reame("stats").output == f"0 answers, 0.0 MB in {folder / NAME}\n"
    fill(folder)
    assert reame("stats").output.startswith("3 answers, 0.0 MB in ")
    told = json.loads(reame("stats", "--json").output)
    assert (told["answers"], told["file"]) == (3, str(folder / NAME))
    assert 1000 < told["bytes"] < 100_000


def test_a_file_that_cannot_be_read_is_not_an_empty_one(reame: Reame, folder: Path) -> None:
    fill(folder)
    with closing(sqlite3.connect(folder / NAME)) as other:
        other.execute("PRAGMA user_version = 99")
    result = reame("stats")
    assert result.exit_code == 2
    assert result.output.startswith(f"error: {folder / NAME} cannot be read: it was written by a later version")


def test_forgetting(reame: Reame, folder: Path) -> None:
    assert reame("forget", "--all").output == "0 answers forgotten\n"
    fill(folder)
    assert reame("forget", "--older-than", 1).output == "0 answers forgotten\n"
    assert reame("forget", "--tenant", "alice").output == "1 answer forgotten\n"
    assert json.loads(reame("forget", "--tenant", "", "--json").output) == {"forgotten": 2}


def test_what_to_forget_has_to_be_said(reame: Reame) -> None:
    result = reame("forget")
    assert result.exit_code == 2
    assert "say what to forget" in result.output


def test_a_file_that_cannot_be_written_is_said_in_a_line(reame: Reame, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / NAME).mkdir()
    result = reame("forget", "--all")
    assert result.exit_code == 2
    assert result.output.startswith("error: ")
    assert str(folder / NAME) in result.output


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_size_mb", -1),
        ("ttl_days", 0),
        ("longest_kb", 0),
        ("wait_s", -1),
        ("seeded", "maybe"),
        ("folder", ""),
    ],
)
def test_wrong_settings_are_named(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"plugins.memo.{name} must be"):
        read_options("memo", {name: value}, Options)


def test_an_unknown_setting_is_named_with_what_was_meant() -> None:
    with pytest.raises(ConfigError, match=r"no setting 'size_mb'.*max_size_mb"):
        read_options("memo", {"size_mb": 1}, Options)
