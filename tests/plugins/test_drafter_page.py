"""The drafter of docs/writing-a-drafter.md is complete, short, and saves steps."""

from __future__ import annotations

import re
from pathlib import Path

from reame_core.plugins.manager import PluginManager
from reame_core.plugins.selection import PluginSelection
from reame_core.testing import FakeBackend
from tests.engine.support import engine_on, greedy, plain, play

PAGE = (Path(__file__).parents[2] / "docs" / "writing-a-drafter.md").read_text("utf-8")


def test_the_drafter_on_the_page_drafts(tmp_path: Path) -> None:
    [code] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(code.splitlines()) <= 20
    (tmp_path / "again.py").write_text(code)
    manager = PluginManager(PluginSelection(strict=True, folder=tmp_path), entry_points=[])
    request = greedy("hello", 60, ignore_end=True)
    steps = []
    for tenant in ("a", "a", "b"):
        engine = engine_on(FakeBackend(), manager.engine_hooks())
        asked = greedy("hello", 60, ignore_end=True, tenant=tenant)
        assert play(engine, asked)[0].said == plain(request)
        steps.append(engine.steps)
    assert steps[0] == steps[2] == 60
    assert steps[1] < 40
