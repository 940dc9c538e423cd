"""The files of ``packaging/`` can be parsed, and speak of a Reame that exists."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import tree_sitter_ruby
from dockerfile_parse import DockerfileParser
from tree_sitter import Language, Node, Parser

from reame_core.cli.app import reame
from reame_core.config import directories
from reame_core.config.keys import all_keys
from reame_core.config.schema import ServerSettings

PACKAGING = Path(__file__).parents[2] / "packaging"
VARIABLES = {"REAME_HOME", *(key.variable for key in all_keys().values())}
SECTIONS = {"Unit", "Service", "Install"}


def unit() -> dict[str, list[tuple[str, str]]]:
    """The unit as systemd reads it: sections of keys that may come more than once."""
    sections: dict[str, list[tuple[str, str]]] = {}
    current = ""
    for line in (PACKAGING / "reame.service").read_text("utf-8").splitlines():
        if not line or line.startswith(("#", ";")):
            continue
        if found := re.fullmatch(r"\[(\w+)\]", line):
            current = found[1]
            sections[current] = []
        else:
            key, equals, value = line.partition("=")
            assert equals, line
            assert re.fullmatch(r"[A-Z][A-Za-z]+", key), line
            sections[current].append((key, value))
    return sections


def test_the_unit_starts_a_command_that_exists() -> None:
    sections = unit()
    assert set(sections) == SECTIONS
    service = dict(sections["Service"])
    program, command = service["ExecStart"].split()[-2:]
    assert (program, command in reame.commands) == ("reame", True)
    assert service["RestartPreventExitStatus"] == "2"
    assert int(service["TimeoutStopSec"]) > ServerSettings().grace_s
    assert dict(sections["Install"]) == {"WantedBy": "multi-user.target"}


def test_the_unit_may_write_where_reame_writes() -> None:
    service = dict(unit()["Service"])
    name, _, home = service["Environment"].partition("=")
    assert name in VARIABLES
    assert home == f"/var/lib/{service['StateDirectory']}"
    written = directories({"REAME_HOME": home})
    assert all(path.is_relative_to(home) for path in (written.models, written.state, written.cache))
    assert service["ProtectSystem"] == "strict"
    assert service["LimitMEMLOCK"] == "infinity"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    copy = tmp_path / "reame.service"
    copy.write_text((PACKAGING / "reame.service").read_text("utf-8"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(copy)],
        capture_output=True,
        text=True,
    )
    assert "reame.service" not in done.stderr, done.stderr


@pytest.fixture
def container() -> DockerfileParser:
    return DockerfileParser(fileobj=io.BytesIO((PACKAGING / "Containerfile").read_bytes()))


def test_the_container_runs_a_command_that_exists(container: DockerfileParser) -> None:
    steps = [
        (step["instruction"], step["value"]) for step in container.structure if step["instruction"] != "COMMENT"
    ]
    instructions = dict(steps)
    assert [value for name, value in steps if name == "FROM"] == ["${BASE} AS build", "${BASE}"]
    assert instructions["ENTRYPOINT"] == '["reame"]'
    [command, model] = re.findall(r'"([^"]+)"', instructions["CMD"])
    assert command in reame.commands
    assert model == "smollm2-135m"
    assert instructions["USER"].isdigit(), "not root"
    assert int(instructions["EXPOSE"]) == ServerSettings().port
    assert f":{instructions['EXPOSE']}/health" in instructions["HEALTHCHECK"]
    assert instructions["STOPSIGNAL"] == "SIGTERM"


def test_the_containers_variables_are_settings(container: DockerfileParser) -> None:
    variables = {name: value for name, value in container.envs.items() if name.startswith("REAME_")}
    assert set(variables) <= VARIABLES
    [volume] = [step["value"] for step in container.structure if step["instruction"] == "VOLUME"]
    assert variables["REAME_HOME"] == volume


def test_the_container_copies_what_is_there(container: DockerfileParser) -> None:
    [install] = [step["value"] for step in container.structure if "pip install" in step["value"]]
    folders = re.findall(r"plugins/\w+", install)
    assert folders
    assert all((PACKAGING.parent / folder / "pyproject.toml").exists() for folder in folders)


def formula() -> Node:
    source = (PACKAGING / "homebrew" / "reame.rb").read_bytes()
    return Parser(Language(tree_sitter_ruby.language())).parse(source).root_node


def calls(node: Node) -> list[str]:
    """The text of every method call, with its arguments."""
    own = [node.text.decode()] if node.type == "call" and node.text is not None else []
    return own + [text for child in node.children for text in calls(child)]


def test_the_formula_is_ruby_and_installs_what_there_is() -> None:
    root = formula()
    assert not root.has_error
    found = calls(root)
    assert 'license "MIT"' in found
    assert {text for text in found if text.startswith("url")} == {'url "@URL@"'}
    [completions] = [text for text in found if text.startswith("generate_completions")]
    assert '"completion"' in completions
    commands = re.findall(r'#\{bin\}/reame (\w+)"|opt_bin/"reame", "(\w+)"', "\n".join(found))
    used = {first or second for first, second in commands}
    assert used == {"list", "serve"}
    assert used | {"completion"} <= set(reame.commands)


def test_the_page_names_every_file() -> None:
    page = (PACKAGING / "README.md").read_text("utf-8")
    files = {str(path.relative_to(PACKAGING)) for path in PACKAGING.rglob("*") if path.is_file()}
    assert set(re.findall(r"\]\(([\w./-]+)\)", page)) == files - {"README.md"}
    assert set(re.findall(r"REAME_\w+", page)) <= VARIABLES
