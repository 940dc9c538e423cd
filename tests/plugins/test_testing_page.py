"""The page about testing plugins names everything there is; tests/docs runs its code."""

from __future__ import annotations

import re
from pathlib import Path

from reame_core import testing
from reame_core.testing import contracts

PAGE = Path(__file__).parents[2] / "docs" / "testing-plugins.md"


def test_every_checker_and_fixture_is_named() -> None:
    page = PAGE.read_text("utf-8")
    for name in contracts.__all__:
        assert name in page
    fixtures = Path(testing.__file__).with_name("pytest_plugin.py").read_text("utf-8")
    for fixture in re.findall(r"def (reame_\w+)", fixtures):
        assert f"`{fixture}`" in page
