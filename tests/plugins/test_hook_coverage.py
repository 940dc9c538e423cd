"""Every hook has a test and a section in docs/hooks.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reame_core.plugins.forms import hook_arguments

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("hook", hook_arguments())
def test_every_hook_has_a_test(hook: str) -> None:
    of_this_hook = re.compile(rf"^ *(async )?def test_hook_{hook}(_\w+)?\(", re.MULTILINE)
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    found = any(of_this_hook.search(path.read_text("utf-8")) for path in files)
    assert found, f"no test below tests/ is called test_hook_{hook} or test_hook_{hook}_..."


@pytest.mark.parametrize("hook", hook_arguments())
def test_every_hook_has_a_section_in_the_documentation(hook: str) -> None:
    page = (ROOT / "docs" / "hooks.md").read_text("utf-8")
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    assert hook in sections
    assert f"`{hook}({', '.join(hook_arguments()[hook])})`" in sections[hook]
    for term in ("Thread", "Called", "May", "Errors", "The engine", "Since"):
        assert f"\n- **{term}**" in sections[hook], f"the section of {hook} says nothing on {term!r}"


def test_the_documentation_has_no_section_of_a_hook_that_is_gone() -> None:
    page = (ROOT / "docs" / "hooks.md").read_text("utf-8")
    assert set(re.findall(r"^### (\w+)$", page, re.MULTILINE)) == set(hook_arguments())
