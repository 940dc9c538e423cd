"""The contract of all drafters, which the core's own tools for plugins check."""

from __future__ import annotations

from typing import Any

import pytest
from reame_suggeritore import Suggeritore

from reame_core.testing.contracts import check_drafter

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 6}, "tall": {"type": "boolean"}},
    "required": ["name", "tall"],
    "additionalProperties": False,
}
FIELDS: dict[str, dict[str, Any]] = {
    "schema": {"response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}},
    "json": {"response_format": {"type": "json_object"}},
    "regex": {"reame.regex": "(red|blue), [0-9]{1,3}\\."},
    "tools": {
        "tools": [{"type": "function", "function": {"name": "note", "parameters": PERSON}}],
        "tool_choice": "required",
    },
}


@pytest.mark.parametrize("options", [{}, {"templates": False}], ids=["all", "no templates"])
def test_the_contract_of_drafters(options: dict[str, object]) -> None:
    check_drafter(Suggeritore, name="suggeritore", options=options)


@pytest.mark.parametrize("kind", FIELDS)
def test_the_contract_of_drafters_where_answers_have_a_structure(kind: str) -> None:
    check_drafter(Suggeritore, name="suggeritore", fields=FIELDS[kind], examples=20)
