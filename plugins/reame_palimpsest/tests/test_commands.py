from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result
from reame_palimpsest.commands import palimpsest
from reame_palimpsest.folders import TokenizerFolder
from reame_palimpsest.generations import Generation
from reame_palimpsest.shelf import Shelf

from plugins.reame_palimpsest.tests.shelves import DAY, Clock, has, shelf
from plugins.reame_palimpsest.tests.support import TOKENIZER, random_generations, said
from reame_core.cli.group import ReameGroup

Reame = Callable[..., Result]
SOME = random_generations(10)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REAME_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "state" / "palimpsest"


@pytest.fixture
def reame(root: Path) -> Reame:
    cli = ReameGroup("reame")
    cli.add_command(palimpsest)

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(cli, ["palimpsest", *map(str, arguments)])

    return run


def folder(root: Path, tenant: str = "", tokenizer: str = TOKENIZER) -> Path:
    return TokenizerFolder(root / tokenizer).tenant(tenant)


def filled(root: Path, tenant: str = "", generations: list[Generation] = SOME) -> Shelf:
    """The shelf of a running server that has archived ``generations``, half of them sealed."""
    opened = shelf(folder(root, tenant))
    for number, each in enumerate(generations):
        opened.add(each)
        if number == len(generations) // 2:
            opened.seal()
    return opened


def in_archive(root: Path, tenant: str = "", generations: list[Generation] = SOME) -> list[bool]:
    opened = shelf(folder(root, tenant))
    return [has(opened, each) for each in generations]


def test_stats(root: Path, reame: Reame) -> None:
    filled(root)
    filled(root, "secret name", SOME[:3])
    TokenizerFolder(root / TOKENIZER).describe("a-model")
    table = reame("stats").stdout
    assert "(no name)" in table
    assert "a-model" in table
    assert "secret" not in table
    archives = json.loads(reame("stats", "--json").stdout)["archives"]
    assert sorted(each["generations"] for each in archives) == [3, 10]
    by_tenant = {each["tenant"]: each for each in archives}
    assert by_tenant[""]["tokens"] == sum(len(each.tokens) for each in SOME)
    assert (by_tenant[""]["oldest"], by_tenant[""]["newest"]) == (1000, 1009)


def test_stats_of_nothing(reame: Reame) -> None:
    assert reame("stats").exit_code == 0
    assert json.loads(reame("stats", "--json").stdout)["archives"] == []


class TestForget:
    def test_a_tenant(self, root: Path, reame: Reame) -> None:
        for tenant in ("", "a", "b"):
            filled(root, tenant).close()
        result = reame("forget", "--tenant", "a")
        assert (result.exit_code, result.stdout) == (0, "10 generations forgotten\n")
        assert not any(in_archive(root, "a"))
        assert all(in_archive(root, "b") + in_archive(root))
        reame("forget", "--tenant", "")
        assert not any(in_archive(root))

    def test_by_age(self, root: Path, reame: Reame, monkeypatch: pytest.MonkeyPatch) -> None:
        filled(root).close()
        monkeypatch.setattr("reame_palimpsest.commands.time", SimpleNamespace(time=lambda: 1004 + 30 * DAY))
        assert json.loads(reame("forget", "--older-than", 30, "--json").stdout) == {
            "generations": 5,
            "living_logs": 0,
        }
        assert in_archive(root) == [False] * 5 + [True] * 5

    def test_before_a_date(self, root: Path, reame: Reame) -> None:
        old, young = (
            said([1] * 5, [2] * 9, key=1, time=1_700_000_000),
            said([3] * 5, [4] * 9, key=2, time=1_800_000_000),
        )
        filled(root, "", [old, young]).close()
        assert reame("forget", "--before", "2025-06-01").exit_code == 0
        assert in_archive(root, "", [old, young]) == [False, True]

    def test_everything_also_of_a_running_server(self, root: Path, reame: Reame) -> None:
        running = filled(root)
        result = reame("forget", "--all")
        assert "6 generations forgotten" in result.stdout
        assert "within seconds" in result.stdout
        assert not any(in_archive(root)), "nobody else reads what is to be forgotten"
        assert any(has(running, each) for each in SOME)
        running.refresh()
        assert not any(has(running, each) for each in SOME)
        assert not [path for path in folder(root).iterdir() if path.name != "lock"]

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            ([], "say what to forget"),
            (["--before", "2026-01-01", "--older-than", "3"], "give one of them"),
            (["--before", "tomorrow"], "no date"),
            (["--older-than", "-1"], "range"),
        ],
    )
    def test_what_makes_no_sense(self, reame: Reame, arguments: list[str], problem: str) -> None:
        result = reame("forget", *arguments)
        assert result.exit_code == 2
        assert problem in result.stderr
        assert result.stderr.count("\n") == 1


class TestTransfer:
    def test_one_servers_archive_warms_another(self, root: Path, reame: Reame, tmp_path: Path) -> None:
        running = filled(root)
        target = tmp_path / "archive.reame"
        assert "10 generations" in reame("export", target).stdout
        assert target.stat().st_mode & 0o077 == 0
        reame("forget", "--all")
        running.close()
        result = reame("import", target, "--tenant", "b")
        assert result.stdout == "10 generations added, 0 were there already\n"
        assert all(in_archive(root, "b"))
        assert not any(in_archive(root))
        again = reame("import", target, "--tenant", "b", "--json")
        assert json.loads(again.stdout) == {"tokenizer": TOKENIZER, "added": 0, "known": 10, "damaged": 0}

    def test_a_running_server_sees_what_is_imported(self, root: Path, reame: Reame, tmp_path: Path) -> None:
        filled(root, "a").close()
        reame("export", tmp_path / "x", "--tenant", "a")
        running = shelf(folder(root))
        reame("import", tmp_path / "x")
        running.refresh()
        assert all(has(running, each) for each in SOME)

    def test_a_damaged_export_gives_what_is_sound(self, root: Path, reame: Reame, tmp_path: Path) -> None:
        filled(root).close()
        reame("export", tmp_path / "x")
        content = bytearray((tmp_path / "x").read_bytes())
        content[200] ^= 1
        (tmp_path / "x").write_bytes(content[:-3])
        result = reame("import", tmp_path / "x", "--tenant", "b")
        assert "8 generations added" in result.stdout
        assert "damaged" in result.stdout

    def test_what_is_no_export(self, reame: Reame, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("hello")
        result = reame("import", tmp_path / "x")
        assert result.exit_code == 2
        assert "is no archive" in result.stderr

    def test_a_tokenizer_has_to_be_chosen(self, root: Path, reame: Reame, tmp_path: Path) -> None:
        assert "nothing of that kind" in reame("export", tmp_path / "x").stderr
        filled(root).close()
        other = "ff" * 16
        opened = Shelf(folder(root, tokenizer=other), other, shelf(tmp_path)._limits, Clock())
        opened.add(SOME[0])
        opened.close()
        assert "--tokenizer" in reame("export", tmp_path / "x").stderr
        assert "1 generations" in reame("export", tmp_path / "x", "--tokenizer", "ff").stdout


def test_the_settings_say_where(root: Path, reame: Reame, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    filled(elsewhere).close()
    (tmp_path / "reame.toml").write_text(f'[plugins.palimpsest]\nfolder = "{elsewhere}"\n')
    assert json.loads(reame("stats", "--json").stdout)["folder"] == str(elsewhere)
    (tmp_path / "reame.toml").write_text("[plugins.palimpsest]\nmax_size_mb = -1\n")
    result = reame("stats")
    assert result.exit_code == 2
    assert "plugins.palimpsest.max_size_mb must be" in result.stderr
