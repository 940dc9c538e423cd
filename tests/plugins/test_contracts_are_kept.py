"""Every plugin of the project is held to the contracts of its hooks, in its own tests."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from reame_core.plugins.manager import PluginManager

ROOT = Path(__file__).parents[2]
CHECKERS = {
    "propose_draft": "check_drafter",
    "compute_drafts": "check_drafter",
    "on_prefill": "check_cache",
    "select_winner": "check_judge",
}
EXEMPT = {
    ("palimpsest", "on_prefill"): "restores nothing: it learns there that a sequence is about to begin",
}


def entry_points() -> list[tuple[Path, str, str]]:
    """(the distribution's folder, the plugin's name, what its entry point says)."""
    found = []
    for path in sorted(ROOT.glob("plugins/*/pyproject.toml")):
        project = tomllib.loads(path.read_text("utf-8"))["project"]
        points = project.get("entry-points", {}).get("reame", {})
        found += [(path.parent, name, target) for name, target in points.items()]
    return found


def hooks_of(name: str, target: str) -> set[str]:
    module, _, attribute = target.partition(":")
    plugin = importlib.import_module(module)
    plugin = getattr(plugin, attribute) if attribute else plugin
    manager = PluginManager(builtins=((name, plugin),), entry_points=[])
    return set(manager.report()[0].hooks)


@pytest.mark.parametrize(
    ("folder", "name", "target"), entry_points(), ids=lambda value: str(value).split("/")[-1]
)
def test_a_plugin_is_checked_by_the_contract_of_each_of_its_hooks(folder: Path, name: str, target: str) -> None:
    tests = "\n".join(path.read_text("utf-8") for path in folder.glob("tests/**/*.py"))
    called = set(re.findall(r"\b(check_\w+)\(", tests))
    hooks = hooks_of(name, target)
    wanted = {checker for hook, checker in CHECKERS.items() if hook in hooks and (name, hook) not in EXEMPT}
    assert wanted <= called, f"{folder.name}/tests call no {wanted - called} for {name}"


def test_exemptions_are_of_hooks_that_there_are() -> None:
    hooks = {name: hooks_of(name, target) for _, name, target in entry_points()}
    assert all(hook in hooks[name] for name, hook in EXEMPT)
