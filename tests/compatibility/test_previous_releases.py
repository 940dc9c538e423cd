"""Plugins that were written for earlier versions, back to ``OLDEST_API_VERSION``, work with this one."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import httpx
import pytest

from reame_core import hookspecs
from reame_core.config import load_settings
from reame_core.hookspecs import API_VERSION, OLDEST_API_VERSION, hookspec
from reame_core.models.catalogue import read_entry
from reame_core.plugins.forms import hook_arguments, lifetimes
from reame_core.testing import FakeBackend
from reame_core.testing.serving import FakeModel, listening
from tests.compatibility import frozen
from tests.compatibility.frozen import HERE, Incompatible
from tests.compatibility.surface import losses, surface
from tests.plugins.public_api import PUBLIC_MODULES

FROZEN = sorted(path.name for path in HERE.iterdir() if path.name[:1].isdigit())


def key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


VERSIONS = [version for version in FROZEN if key(OLDEST_API_VERSION) <= key(version) <= key(API_VERSION)]
OLD = {version: json.loads((HERE / version / "api.json").read_text("utf-8")) for version in VERSIONS}
ARGUMENTS = [
    (version, hook, argument)
    for version in VERSIONS
    for hook, arguments in OLD[version]["hooks"].items()
    for argument in arguments
]

every_version = pytest.mark.parametrize("version", VERSIONS)


def test_there_are_versions_to_be_compatible_with() -> None:
    assert OLDEST_API_VERSION in VERSIONS


@every_version
def test_nothing_public_is_lost(version: str) -> None:
    assert losses(OLD[version], surface(PUBLIC_MODULES)) == []


@every_version
def test_every_hook_there_was_has_an_example_that_works(version: str) -> None:
    manager = frozen.hook_examples(version)
    for hook in OLD[version]["hooks"]:
        assert any(hook in report.hooks for report in manager.report()), hook
    manager.hook("register_commands").all(collected := click.Group())
    assert collected.commands
    assert manager.hook("run_options").answers()
    assert manager.hook("metrics").answers()
    assert not any(manager.error_counts().values())


@every_version
def test_the_examples_work(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sqlite3.connect(tmp_path / "shop.sqlite").close()
    (tmp_path / "mirror.txt").write_text(f"ours-1b  ours.gguf  {'a' * 64}  8192\n")
    monkeypatch.setenv("REAME_MIRROR_LIST", str(tmp_path / "mirror.txt"))
    manager = frozen.examples(version)
    models = dict(manager.hook("register_models").answers())["company_mirror"]
    assert read_entry("ours-1b", models["ours-1b"], "company_mirror").facts.context == 8192
    helped = frozen.check_engine(manager, {"sql_judge": {"database": str(tmp_path / "shop.sqlite")}})
    assert "code_drafter" in helped


@every_version
def test_the_packages_work(version: str, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    with frozen.importable(site):
        manager = frozen.packages(version, site)
        helped = frozen.check_engine(manager, {"old-cache": {"folder": str(tmp_path / "cells")}})
        assert helped["old-drafter"] > 0
        assert helped["old-cache"] > 0
        assert manager.hook("register_models").answers()
        with (
            listening(FakeModel(FakeBackend(), manager), load_settings([], environment={})) as (url, _),
            httpx.Client(base_url=url, timeout=20) as client,
        ):
            routes = client.get("/schema/openapi.json").json()["paths"]
            assert any("old-routes" in path for path in routes), sorted(routes)


@every_version
def test_their_own_tests_pass(version: str, tmp_path: Path) -> None:
    """They are written with ``reame_core.testing`` as it was."""
    for project in (HERE / version / "packages").iterdir():
        shutil.copytree(project, tmp_path / project.name)
    folders = sorted(tmp_path.iterdir())
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *folders],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders)), "REAME_PLUGINS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture
def _fresh_hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield
    monkeypatch.undo()
    hook_arguments.cache_clear()
    lifetimes.cache_clear()


def respecified(hook: str, arguments: list[str]) -> Any:
    """The specification of ``hook`` with other arguments."""
    names: dict[str, Any] = {}
    exec(f"def {hook}({', '.join(arguments)}): 'Mutated.'", names)
    options: Any = getattr(hookspecs, hook).reame_spec
    return hookspec(since="0.1", firstresult=options["firstresult"])(names[hook])


@pytest.mark.usefixtures("_fresh_hooks")
@pytest.mark.parametrize("change", ["removed", "renamed"])
@pytest.mark.parametrize(("version", "hook", "argument"), ARGUMENTS)
def test_an_argument_cannot_be_taken_away_unnoticed(
    version: str, hook: str, argument: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = list(inspect.signature(getattr(hookspecs, hook)).parameters)
    place = arguments.index(argument)
    arguments[place : place + 1] = [] if change == "removed" else [f"{argument}_now"]
    monkeypatch.setattr(hookspecs, hook, respecified(hook, arguments))
    hook_arguments.cache_clear()
    lifetimes.cache_clear()
    with pytest.raises(Incompatible, match=f"there is no argument '{argument}'"):
        frozen.hook_examples(version)
    assert f"hook {hook!r} has no argument {argument!r} any more" in losses(
        OLD[version], surface(PUBLIC_MODULES)
    )


@pytest.mark.usefixtures("_fresh_hooks")
@pytest.mark.parametrize("hook", OLD[VERSIONS[0]]["hooks"])
def test_a_hook_cannot_be_taken_away_unnoticed(hook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(hookspecs, hook)
    hook_arguments.cache_clear()
    lifetimes.cache_clear()
    with pytest.raises(Incompatible, match=f"'{hook}' is no hook of Reame"):
        frozen.hook_examples(VERSIONS[0])
