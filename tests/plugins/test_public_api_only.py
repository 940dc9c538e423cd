"""Plugins, the project's own ones too, use no private name of the core: what is public is the list in
docs/api-stability.md."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pkgutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import reame_core
from reame_core.scaffold import KINDS, PluginName, write_plugin
from tests.plugins.public_api import PUBLIC_MODULES

ROOT = Path(__file__).parents[2]
NAMED_TUPLES = {"_asdict", "_fields", "_field_defaults", "_make", "_replace"}
"""Public, whatever they begin with."""
PACKAGES = [path for path in sorted(ROOT.glob("plugins/*/reame_*")) if (path / "__init__.py").exists()]


def faults(source: str) -> Iterator[str]:
    """What in ``source`` is not public, one line each."""
    tree = ast.parse(source)
    own = set(defined(tree))
    for node in ast.walk(tree):
        for module, name in imported(node):
            if module.partition(".")[0] != "reame_core":
                continue
            if name and names_a_module(module, name):
                module, name = f"{module}.{name}", ""
            if module not in PUBLIC_MODULES:
                yield f"line {node.lineno}: {module} is no public module"  # type: ignore[attr-defined]
            elif name and name.startswith("_"):
                yield f"line {node.lineno}: {module}.{name} is private"  # type: ignore[attr-defined]
        if (attribute := private_attribute(node)) and attribute not in own:
            yield f"line {node.lineno}: {attribute} belongs to somebody else"  # type: ignore[attr-defined]


def names_a_module(package: str, name: str) -> bool:
    """Whether ``from package import name`` gives a module: a package may have something else by that name."""
    if not is_module(f"{package}.{name}"):
        return False
    return package not in PUBLIC_MODULES or inspect.ismodule(
        getattr(importlib.import_module(package), name, None)
    )


def is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """(module, name in it or nothing) of each import in ``node``."""
    match node:
        case ast.Import(names=names):
            yield from ((alias.name, "") for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            yield from ((module, alias.name) for alias in names)
        case ast.Call(
            func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
            args=[ast.Constant(value=str(module)), *_],
        ):
            yield module, ""


def private_attribute(node: ast.AST) -> str:
    """The name of an attribute that is meant for its own module alone."""
    match node:
        case ast.Attribute(attr=name):
            pass
        case ast.Call(
            func=ast.Name(id="getattr" | "setattr" | "hasattr" | "delattr"),
            args=[_, ast.Constant(value=str(name)), *_],
        ):
            pass
        case _:
            return ""
    private = name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLES
    return name if private else ""


def defined(tree: ast.AST) -> Iterator[str]:
    """Names that the module itself gives to something: functions, variables, attributes of ``self``."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield name


def check(path: Path) -> None:
    wrong = list(faults(path.read_text("utf-8")))
    assert not wrong, f"{path}: {'; '.join(wrong)}; docs/api-stability.md lists what plugins may use"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_plugins_of_the_project(package: Path) -> None:
    files = sorted(package.rglob("*.py"))
    assert files
    for path in files:
        check(path)


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.py")), ids=lambda path: path.name)
def test_examples(path: Path) -> None:
    check(path)


@pytest.mark.parametrize("kind", KINDS)
def test_new_plugins_and_their_tests(kind: str, tmp_path: Path) -> None:
    files = write_plugin(PluginName("mine"), KINDS[kind], tmp_path, reame="0.1.0")
    scripts = [path for path in files if path.suffix == ".py"]
    assert len(scripts) == 3
    for path in scripts:
        check(path)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("from reame_core.engine.engine import Engine", "reame_core.engine.engine is no public module"),
        ("import reame_core.llama.bindings as b", "reame_core.llama.bindings is no public module"),
        ("from reame_core.engine import slot", "reame_core.engine.slot is no public module"),
        ("from reame_core.config import schema", "reame_core.config.schema is no public module"),
        ("from reame_core import server", "reame_core.server is no public module"),
        ("from reame_core.plugins.api import _secret", "reame_core.plugins.api._secret is private"),
        ("def f():\n    importlib.import_module('reame_core.host.cpu')", "reame_core.host.cpu is no public"),
        ("def f(sequence):\n    return sequence._buffer", "_buffer belongs to somebody else"),
        ("def f(kv):\n    return getattr(kv, '_slot')", "_slot belongs to somebody else"),
    ],
)
def test_what_is_private_is_found(source: str, fault: str) -> None:
    found = list(faults(source))
    assert len(found) == 1
    assert fault in found[0]


@pytest.mark.parametrize(
    "source",
    [
        "from reame_core.plugins.api import Draft, Stage",
        "from reame_core.plugins import api",
        "from reame_core.models.catalogue import resolve",
        "from reame_core.hookspecs import hookimpl",
        "import reame_core.errors",
        "class A:\n    def __init__(self, other):\n        self._x = 1\n        self._y = other._x",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    _x: int\ndef f(a):\n    return a._x",
        "def f(a):\n    return a.__class__.__name__",
    ],
)
def test_what_is_public_is_left_alone(source: str) -> None:
    assert list(faults(source)) == []


def is_within(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def contract(name: str) -> dict[str, list[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    [found] = [each for each in settings["contracts"] if each["name"] == name]
    return found  # type: ignore[no-any-return]


def test_import_linter_agrees_with_the_list() -> None:
    """It looks at all code of the plugins at once and knows modules only; what is private as a whole is private
    for it as well, and nothing public is."""
    forbidden = contract("Plugins use the public core alone")["forbidden_modules"]
    assert [public for public in PUBLIC_MODULES if any(is_within(public, name) for name in forbidden)] == []
    parts = {f"reame_core.{module.name}" for module in pkgutil.iter_modules(reame_core.__path__)}
    private = {part for part in parts if not any(is_within(public, part) for public in PUBLIC_MODULES)}
    assert private - set(forbidden) == {"reame_core.__main__"}
    sources = contract("Plugins use the public core alone")["source_modules"]
    assert {path.name for path in PACKAGES} - {"reame_bench"} == set(sources)


def test_the_list_names_modules_that_there_are() -> None:
    assert PUBLIC_MODULES
    assert all(is_module(name) for name in PUBLIC_MODULES)
