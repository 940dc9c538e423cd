"""Everything public has a type, and whoever uses it under ``mypy --strict`` sees that."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reame_core.scaffold import KINDS, PluginName, write_plugin
from tests.compatibility.surface import bound_names
from tests.plugins.public_api import PUBLIC_MODULES

ROOT = Path(__file__).parents[2]
PASSED_ON = {
    "reame_core.answers.*",
    "reame_core.config.*",
    "reame_core.models.catalogue.*",
    "reame_core.plugins.api.*",
}
"""Where the names are that public packages pass on."""
OPEN = {
    ("reame_core.cli.options", "sampling_options"): "decorators of click's, which take any function",
    ("reame_core.cli.options", "model_options"): "likewise",
    ("reame_core.cli.options", "server_options"): "likewise",
    ("reame_core.cli.options", "plugin_options"): "likewise",
    ("reame_core.config", "PluginSettings"): "the tables of plugins: whatever TOML has",
    ("reame_core.testing.pytest_plugin", "reame_engine"): "passes arguments on",
    ("reame_core.testing.pytest_plugin", "reame_server"): "passes arguments on",
}


def distributions() -> list[Path]:
    """The folders of all import packages of the project."""
    return [ROOT / "reame_core", *sorted(path.parent for path in ROOT.glob("plugins/*/reame_*/__init__.py"))]


@pytest.mark.parametrize("package", distributions(), ids=lambda path: path.name)
def test_every_package_says_that_it_is_typed(package: Path) -> None:
    assert (package / "py.typed").read_text() == ""
    project = package.parent / "pyproject.toml"
    settings = tomllib.loads(project.read_text("utf-8"))
    assert package.name in settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    assert checked["strict"]
    assert package.name in checked["packages"]


def test_mypy_looks_at_public_modules_most_strictly() -> None:
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]["overrides"]
    [strictest] = [each for each in overrides if each.get("disallow_any_decorated")]
    assert strictest["disallow_any_unimported"]
    assert set(strictest["module"]) == {*PUBLIC_MODULES, *PASSED_ON}


def public_objects() -> list[Any]:
    found = []
    for module in PUBLIC_MODULES:
        loaded = importlib.import_module(module)
        for name in bound_names(loaded):
            value = getattr(loaded, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                found.append(pytest.param(module, name, value, id=f"{module}.{name}"))
    return found


@pytest.mark.parametrize(("module", "name", "value"), public_objects())
def test_no_type_is_left_open(module: str, name: str, value: Any) -> None:
    """``Any`` in a public signature switches the caller's checks off; only arguments that are passed on, as
    ``**options``, may have it."""
    value = inspect.unwrap(value)
    if getattr(value, "__module__", "").startswith("reame_core") and (module, name) not in OPEN:
        assert list(open_types(value)) == []


def open_types(value: Any) -> Iterator[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and is_public(field.target) and is_open(field.annotation):
                    yield ast.unparse(field)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not hidden(node.name):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            for annotation in (node.returns, *(argument.annotation for argument in arguments)):
                if annotation is not None and is_open(annotation):
                    yield f"{node.name}: {ast.unparse(annotation)}"


def hidden(name: str) -> bool:
    return name.startswith("_") and name not in ("__init__", "__call__")


def is_public(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and not target.id.startswith("_")


def is_open(annotation: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(annotation))


def test_whoever_writes_a_plugin_is_checked_strictly(tmp_path: Path) -> None:
    """As an installed package, without the project's own settings: new plugins and the examples."""
    for kind in KINDS.values():
        write_plugin(PluginName(f"typed-{kind.name}"), kind, tmp_path, reame="0.1.0")
    files = [
        *sorted(tmp_path.glob("*/reame_*/plugin.py")),
        *sorted(ROOT.glob("examples/*.py")),
    ]
    assert len(files) >= len(KINDS) + 3
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from reame_core.plugins.api import Draft, SequenceView\n"
        "def propose(sequence: SequenceView) -> int:\n"
        "    reveal_type(sequence.tokens)\n"
        "    return Draft([1]).tokens\n"
    )
    flags = ["--strict", "--config-file", "", "--explicit-package-bases", "--follow-imports", "silent"]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *flags, "--cache-dir", tmp_path / "cache", *files, wrong],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in ran.stdout.splitlines() if ": error:" in line]
    assert [line.partition(":")[0] for line in errors] == ["wrong.py"], ran.stdout
    assert 'expected "int"' in errors[0]
    assert "numpy.int32" in ran.stdout or "signedinteger" in ran.stdout, "numpy's types come through"
