"""Commands of plugins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    Invoke = Callable[..., Result]

GREETER = """
import click
from reame_core.errors import ConfigError
from reame_core.hookspecs import hookimpl

@click.command(short_help="Greet somebody.")
@click.argument("name")
def greet(name):
    if name == "nobody":
        raise ConfigError("there is nobody to greet")
    click.echo(f"Hello {name}")

@click.command()
def run():
    click.echo("not the core's")

@hookimpl
def register_commands(cli):
    cli.add_command(greet)
    cli.add_command(run)
"""


@pytest.fixture
def folder(alone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of plugins, and no installed ones."""
    monkeypatch.setenv("REAME_PLUGINS__FOLDER", str(alone))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    (alone / "greeter.py").write_text(GREETER)
    return alone


def test_hook_register_commands(folder: Path, invoke: Invoke) -> None:
    assert invoke("greet", "you").stdout == "Hello you\n"
    assert "Greet somebody." in invoke("--help").stdout


def test_hook_register_commands_cannot_replace_the_cores(folder: Path, invoke: Invoke) -> None:
    assert "not the core's" not in invoke("run", "--help").stdout
    assert "prompt" in invoke("run", "--help").stdout.lower()


def test_hook_register_commands_errors_are_one_line(folder: Path, invoke: Invoke) -> None:
    result = invoke("greet", "nobody")
    assert (result.exit_code, result.stderr) == (2, "error: there is nobody to greet\n")


def test_hook_register_commands_of_a_disabled_plugin_is_not_asked(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAME_PLUGINS", "")
    assert "greet" not in invoke("--help").stdout
    assert "no such command 'greet'" in invoke("greet", "you").stderr


def test_hook_register_commands_that_fails_leaves_the_others(folder: Path, invoke: Invoke) -> None:
    (folder / "another.py").write_text(
        "from reame_core.hookspecs import hookimpl\n@hookimpl\ndef register_commands(cli):\n    1 / 0\n"
    )
    assert invoke("greet", "you").stdout == "Hello you\n"
    assert "Greet somebody." in invoke("--help").stdout


def test_help_in_spite_of_wrong_settings(folder: Path, invoke: Invoke) -> None:
    (folder / "reame.toml").write_text("[model]\nthreds = 3\n")
    assert "Usage" in invoke("--help").stdout
    result = invoke("greet", "you")
    assert result.exit_code == 2
    assert "threds" in result.stderr
