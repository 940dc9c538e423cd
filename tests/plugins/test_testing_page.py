"""The page about testing plugins: its code runs, in order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from reame_core import testing
from reame_core.testing import contracts

PAGE = Path(__file__).parents[2] / "docs" / "testing-plugins.md"


def test_the_code_of_the_page() -> None:
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(block, names)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert len(tests) == 3
    for test in tests:
        test()


def test_every_checker_and_fixture_is_named() -> None:
    page = PAGE.read_text("utf-8")
    for name in contracts.__all__:
        assert name in page
    fixtures = Path(testing.__file__).with_name("pytest_plugin.py").read_text("utf-8")
    for fixture in re.findall(r"def (reame_\w+)", fixtures):
        assert f"`{fixture}`" in page
