"""A schema is checked once, and remembered in little memory."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from reame_suggeritore.structured import schema as schemas
from reame_suggeritore.structured.schema import checked
from reame_suggeritore.structured.valid_schemas import ValidSchemas

from reame_core.errors import InvalidRequest


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The schemas that were compared with the rules of schemas, from now on."""
    seen: list[Any] = []
    kind = jsonschema.Draft202012Validator
    original = kind.check_schema

    def check(schema: Any, **options: Any) -> None:
        seen.append(schema)
        original(schema, **options)

    monkeypatch.setattr(kind, "check_schema", check)
    monkeypatch.setattr(schemas, "_VALID", ValidSchemas(kept=2))
    return seen


def of(kind: object) -> dict[str, object]:
    return {"type": "array", "items": {"type": kind}}


def test_the_same_schema_is_checked_once_whatever_field_it_comes_in(checks: list[Any]) -> None:
    for param in ("json_schema", "tools[0].function.parameters"):
        assert checked(of("string"), param) == of("string")
    assert checks == [of("string")]


def test_only_the_very_same_schema_is_known(checks: list[Any]) -> None:
    for exact in (1, 1.0, True, "1"):
        checked({"const": exact}, "json_schema")
    assert len(checks) == 4


def test_what_is_wrong_is_found_each_time(checks: list[Any]) -> None:
    for param in ("json_schema", "regex"):
        with pytest.raises(InvalidRequest, match=rf"^{param}\.items\.type is not valid in a schema"):
            checked(of(5), param)
    assert len(checks) == 2


def test_the_latest_ones_are_remembered(checks: list[Any]) -> None:
    expected = []
    for kind, known in [("null", 0), ("string", 0), ("null", 1), ("number", 0), ("null", 1), ("string", 0)]:
        checked(of(kind), "json_schema")
        if not known:
            expected.append(of(kind))
        assert checks == expected


def test_memory_does_not_grow_with_them() -> None:
    known = ValidSchemas(kept=5)
    for number in range(100):
        known.add({"const": number})
        assert {"const": number} in known
    assert len(known) == 5
    assert {"const": 94} not in known


@pytest.mark.usefixtures("checks")
def test_a_schema_too_deep_to_be_written_is_refused() -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"items": deep}
    with pytest.raises(InvalidRequest, match=r"^json_schema is nested too deeply$"):
        checked(deep, "json_schema")
