"""``reame``, ``reame config`` and ``reame plugins``."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reame_core.cli.app import reame
from reame_core.config.keys import all_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    Invoke = Callable[..., Result]

DOCUMENT = Path(__file__).parents[2] / "docs" / "configuration.md"


def rows(result: Result) -> dict[str, tuple[str, ...]]:
    """Cells of a table by their row's first; at least two blanks part columns."""
    lines = [re.split(r" {2,}", line) for line in result.stdout.splitlines()[1:]]
    return {cells[0]: tuple(cells[1:]) for cells in lines}


def test_config_shows_every_setting_with_its_origin(
    invoke: Invoke, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = alone / "reame.toml"
    file.write_text(
        '[engine]\nparallel = 7\n[model]\npath = "[bold]x[/bold]"\n[plugins.diskkv]\nsecret = "hush"\n'
    )
    monkeypatch.setenv("REAME_PLUGINS", "a,b")
    result = invoke("config", "--threads", "2", "--no-plugin", "x", "--temperature", "0.5")
    assert (result.exit_code, result.stderr) == (0, "")
    shown = rows(result)
    assert set(shown) == {*all_keys(), "plugins.diskkv.secret"}
    assert shown["model.threads"] == ("2", "flag --threads")
    assert shown["plugins.only"] == ("a, b", "environment REAME_PLUGINS")
    assert shown["engine.parallel"] == ("7", f"file {file}")
    assert shown["model.path"][0] == f"{alone}/[bold]x[/bold]"
    assert shown["model.context_length"] == ("auto", "default")
    assert shown["plugins.disable"] == ("x", "flag --no-plugin")
    assert shown["plugins.diskkv.secret"] == ("set", f"file {file}")


def test_tables_are_styled_on_a_terminal_only(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in invoke("config").stdout
    monkeypatch.setattr("reame_core.cli.terminal.is_terminal", lambda _: True)
    monkeypatch.setattr("reame_core.cli.table.is_terminal", lambda _: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("REAME_MODEL__PATH", "/\x1b[2J" + "x" * 50)
    shown = invoke("config").stdout
    assert "\x1b[1m" in shown
    assert "\x1b[2J" not in shown
    assert max(len(line) for line in shown.splitlines() if "\x1b" not in line) <= 40


def test_config_as_json(invoke: Invoke, alone: Path) -> None:
    file = alone / "reame.toml"
    file.write_text("[engine]\nparallel = 7\n[plugins.x]\nday = 1979-05-27\n")
    answer = json.loads(invoke("config", "--json").stdout)
    assert answer["file"] == str(file)
    assert answer["settings"]["engine.parallel"] == {"value": 7, "origin": "file", "where": str(file)}
    assert answer["settings"]["engine.queue"] == {"value": 256, "origin": "default", "where": None}
    assert answer["settings"]["model.threads"]["value"] is None
    assert answer["settings"]["plugins.x.day"]["value"] == "1979-05-27"


def test_every_flag_is_shown_by_config_and_documented() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| `(--[a-z-]+) [A-Z]+` \| .* \| ([^|]+) \|$", text, re.MULTILINE))
    commands = {
        name: {option for p in command.params for option in p.opts} for name, command in reame.commands.items()
    }
    for flag, where in documented.items():
        listed = re.findall(r"`(\w+)`", where)
        having = [name for name in ("run", "serve", "config", "plugins") if flag in commands[name]]
        assert listed == having, flag
    assert commands["config"] - {"--json"} == set(documented)
    for option in commands["run"] - {"model", "prompt", "--verbose"}:
        assert f"`{option}" in text, f"{option} is not documented"


def test_plugins_lists_what_became_of_each(invoke: Invoke, alone: Path) -> None:
    folder = alone / "mine"
    folder.mkdir()
    (folder / "greeter.py").write_text(
        "from reame_core.hookspecs import hookimpl\n\n@hookimpl\ndef shutdown():\n    pass\n"
    )
    (folder / "broken.py").write_text("import no_such_module\n")
    (folder / "unwanted.py").write_text("raise SystemExit('imported')\n")
    result = invoke("plugins", "--json", "--plugins-dir", "mine", "--no-plugin", "unwanted")
    assert result.exit_code == 0
    report = {entry["name"]: entry for entry in json.loads(result.stdout)}
    assert (report["greeter"]["state"], report["greeter"]["hooks"]) == ("active", ["shutdown"])
    assert report["broken"]["state"] == "failed"
    assert "no_such_module" in report["broken"]["why"]
    assert report["unwanted"]["state"] == "disabled"

    shown = rows(invoke("plugins", "--plugins-dir", "mine", "--no-plugin", "unwanted"))
    assert "active" in shown["greeter"]
    assert "disabled" in shown["unwanted"]


def test_plugins_shows_the_built_in_one(invoke: Invoke) -> None:
    assert rows(invoke("plugins"))["core"][0] == "active"


@pytest.mark.parametrize(
    ("arguments", "toml", "message"),
    [
        (["--no-plugin", "nobody"], "", "no plugin is named 'nobody'"),
        ([], "[plugins.nobody]\nx = 1\n", "no plugin is named 'nobody'"),
        (["--plugins-dir", "none"], "", "none"),
    ],
)
def test_plugins_of_wrong_names(
    arguments: list[str], toml: str, message: str, invoke: Invoke, alone: Path
) -> None:
    (alone / "reame.toml").write_text(toml)
    result = invoke("plugins", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["config", "plugins", "run"])
def test_a_wrong_setting_stops_every_command(
    command: str, invoke: Invoke, session: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAME_MODEL__THREDS", "2")
    result = invoke(command, *(["tiny", "Hi"] if command == "run" else []))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: REAME_MODEL__THREDS: unknown variable; did you mean REAME_MODEL__THREADS?\n"


def test_the_version(invoke: Invoke) -> None:
    assert invoke("--version").stdout == f"reame {version('reame')}\n"


def test_an_unknown_command(invoke: Invoke) -> None:
    result = invoke("rnu", "x")
    assert result.exit_code == 2
    assert result.stderr == "error: no such command 'rnu'; did you mean 'run'?; see reame --help\n"


def test_without_a_command_there_is_help(invoke: Invoke) -> None:
    result = invoke()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Commands:" in result.stderr


@pytest.mark.parametrize("command", [[], ["run"], ["config"], ["plugins"]])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_on_stdout(command: list[str], option: str, invoke: Invoke) -> None:
    result = invoke(*command, option)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: reame")
