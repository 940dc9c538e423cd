"""The list of public modules, read from the page that promises it."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "api-stability.md"


def _listed() -> tuple[str, ...]:
    page = PAGE.read_text("utf-8")
    section = page.partition("\n## What is public\n")[2].partition("\n## ")[0]
    return tuple(re.findall(r"^\| `(reame_core[\w.]*)` \|", section, re.MULTILINE))


PUBLIC_MODULES = _listed()
