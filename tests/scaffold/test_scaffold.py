"""Generated packages are complete: they install into a fresh environment, are found there, and pass their
tests."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from reame_core.cli.app import reame
from reame_core.cli.new_plugin_command import new_plugin
from reame_core.errors import UsageError
from reame_core.scaffold import KINDS, PluginName, write_plugin


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of each kind."""
    folder = tmp_path_factory.mktemp("packages")
    for kind in KINDS.values():
        write_plugin(PluginName(f"my-{kind.name}"), kind, folder, reame="0.1.0")
    return {kind: folder / f"reame-my-{kind}" for kind in KINDS}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, packages: dict[str, Path]) -> Path:
    """The Python of a fresh virtual environment with all of them installed. It sees the packages of this one,
    so that llama.cpp is not built again."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    Path(site, "this-environment.pth").write_text(
        f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    )
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", *packages.values()],
        check=True,
        env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    return python


@pytest.mark.parametrize("kind", KINDS)
def test_its_tests_pass_where_it_is_installed(kind: str, packages: dict[str, Path], environment: Path) -> None:
    ran = subprocess.run(
        [environment, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=packages[kind],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout


def test_all_of_them_are_found_and_work_together(environment: Path) -> None:
    listed = subprocess.run(
        [environment, "-m", "reame_core", "plugins", "--json"], capture_output=True, text=True, check=True
    )
    found = {report["name"]: report for report in json.loads(listed.stdout)}
    for kind in KINDS.values():
        report = found[f"my-{kind.name}"]
        assert report["state"] == "active", report["why"]
        assert set(kind.hooks) <= set(report["hooks"])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_whole(kind: str, packages: dict[str, Path]) -> None:
    folder = packages[kind]
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    package = f"reame_my_{kind}"
    assert {
        "pyproject.toml",
        "README.md",
        ".gitignore",
        ".github/workflows/test.yml",
        f"{package}/__init__.py",
        f"{package}/plugin.py",
        f"{package}/py.typed",
        "tests/test_plugin.py",
    } <= files
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["reame"] == {f"my-{kind}": f"{package}:plugin"}
    assert "reame>=0.1,<0.3" in project["dependencies"]
    for path in folder.rglob("*"):
        if path.is_file():
            assert "{{" not in path.read_text().replace("${{", ""), path
            assert path.suffix != ".py" or ast.parse(path.read_text()) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_it_depends_on_all_that_it_imports(kind: str, packages: dict[str, Path]) -> None:
    """The environment above sees everything that is installed here, declared or not."""
    project = tomllib.loads((packages[kind] / "pyproject.toml").read_text())["project"]
    declared = {"reame_core", f"reame_my_{kind}", *sys.stdlib_module_names}
    for text in (*project["dependencies"], *project["optional-dependencies"]["test"]):
        declared.add(Requirement(text).name.replace("-", "_"))
    for path in packages[kind].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in names} <= declared, path


@pytest.mark.parametrize("kind", KINDS)
def test_it_reads_as_if_by_hand(kind: str, packages: dict[str, Path]) -> None:
    """Ruff finds nothing to mend, by the rules of this project."""
    root = Path(__file__).parents[2]
    for command in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        ran = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--config", root / "pyproject.toml", packages[kind]],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    ("text", "plugin"), [("my-drafter", "my-drafter"), ("My_Drafter", "my-drafter"), ("reame-x1", "x1")]
)
def test_names(text: str, plugin: str) -> None:
    name = PluginName.parse(text)
    assert name.plugin == plugin
    assert name.distribution == f"reame-{plugin}"
    assert name.package.isidentifier()
    assert name.class_name.isidentifier()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("über drafter", "small letters"),
        ("2fast", "such as 'fast'"),
        ("a/../b", "such as 'a-b'"),
        ("", "small letters"),
        ("x" * 51, f"such as '{'x' * 50}'"),
        ("disable", "something else"),
        ("core", "something else"),
    ],
)
def test_names_that_cannot_be(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        PluginName.parse(text)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    arguments = ["new-plugin", "mine", "--kind", "judge", "--into", str(tmp_path)]
    assert CliRunner().invoke(reame, arguments).exit_code == 0
    mark = tmp_path / "reame-mine" / "README.md"
    mark.write_text("mine")
    again = CliRunner().invoke(reame, arguments)
    assert again.exit_code == 2
    assert "there already" in again.stderr
    assert mark.read_text() == "mine"


def test_the_kinds_of_the_command_are_those_there_are() -> None:
    option = next(each for each in new_plugin.params if each.name == "kind")
    assert list(option.type.choices) == list(KINDS)  # type: ignore[attr-defined]
