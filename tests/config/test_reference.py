"""docs/configuration.md says what the schema says."""

from __future__ import annotations

from pathlib import Path

import pytest

from reame_core.config.keys import Key, all_keys
from reame_core.config.reference import reference, renewed

DOCUMENT = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_reference_in_the_documentation_is_current() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert reference() in text, "run: python -m reame_core.config.reference docs/configuration.md"
    assert renewed(text) == text


@pytest.mark.parametrize("setting", all_keys().values(), ids=lambda key: key.full_name)
def test_every_setting_has_a_row_of_its_own(setting: Key) -> None:
    (row,) = [line for line in reference().splitlines() if f"`{setting.variable}`" in line]
    assert row.startswith(f"| `{setting.name}` | ")
    assert setting.expected in row
    assert setting.description
    assert setting.description in row


def test_a_stale_reference_is_noticed() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    stale = text.replace("Rows in one batch.", "Rows.")
    assert stale != text
    assert renewed(stale) == text
