"""What the commands of ``python -m bench`` ask for, without measuring anything."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bench.cli import main
from bench.measuring import Asked, measuring

MEASURED = ("core", "speculation", "suggeritore", "structured", "diskkv", "arca")


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "tiny.gguf"
    path.touch()
    return str(path)


@pytest.mark.parametrize("name", MEASURED)
def test_every_measurement_says_what_it_compares(name: str) -> None:
    names = import_module(f"bench.{name}").NAMES
    assert names
    for each in names:
        module = import_module(f"bench.{name}.{each}")
        assert module.__doc__
        assert callable(module.measure)


@pytest.mark.parametrize("name", MEASURED)
def test_measuring_commands_share_their_options(name: str) -> None:
    options = {option for parameter in main.commands[name].params for option in parameter.opts}
    assert {
        "--model",
        "--only",
        "--json",
        "--rounds",
        "--attempts",
        "--threads",
        "--buffers",
        "--quick",
    } <= options


def asked(model: str, *arguments: str) -> Asked:
    found: list[Asked] = []

    @click.command()
    @measuring(("one", "two"), rounds=5, attempts=3, buffers="auto")
    @click.option("--draft")
    def command(asked: Asked, draft: str | None) -> None:
        found.append(asked.under(draft_model=draft))

    result = CliRunner().invoke(command, ["--model", model, *arguments])
    assert result.exit_code == 0, result.output
    return found[0]


def test_defaults_are_those_of_the_command(model: str) -> None:
    conditions = asked(model).conditions
    assert (conditions.rounds, conditions.attempts, conditions.buffers) == (5, 3, "auto")
    assert conditions.threads is None


def test_options_are_heard(model: str) -> None:
    found = asked(
        model, "--only", "two", "--rounds", "2", "--threads", "1", "--buffers", "off", "--draft", "small"
    )
    assert [path.name for path in found.models] == ["tiny.gguf"]
    assert found.only == ("two",)
    conditions = found.conditions
    assert (conditions.rounds, conditions.threads, conditions.buffers) == (2, 1, "off")
    assert conditions.draft_model == "small"


def test_a_quick_run_has_one_round_and_one_attempt(model: str) -> None:
    conditions = asked(model, "--quick", "--rounds", "4").conditions
    assert (conditions.quick, conditions.rounds, conditions.attempts) == (True, 1, 1)


def test_what_is_not_measured_is_named(model: str) -> None:
    result = CliRunner().invoke(main, ["structured", "--model", model, "--only", "prose"])
    assert result.exit_code == 2
    assert "'invoices'" in result.output


def test_the_look_up_of_known_answers_is_measured_without_a_model(tmp_path: Path) -> None:
    file = tmp_path / "memo.json"
    result = CliRunner().invoke(main, ["memo", "--answers", "2000", "--json", str(file)])
    assert result.exit_code == 0, result.output
    [found] = json.loads(file.read_text("utf-8"))["results"]
    assert [figure["name"] for figure in found["figures"]] == [
        "known",
        "not known",
        "kept",
        "an answer on disk",
    ]
    assert all(figure["value"] > 0 for figure in found["figures"])
