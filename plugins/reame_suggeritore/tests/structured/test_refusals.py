"""What cannot be obeyed is refused, with the place; never answered without a constraint."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.reame_suggeritore.tests.structured.support import (
    answer_to,
    constrained,
    json_format,
    parsed,
    sampled_at,
    served,
    structure_on,
)
from reame_core.errors import InvalidRequest
from reame_core.plugins.api import ApiRequest
from reame_core.testing import FakeBackend

AT = "response_format.json_schema.schema"
DEEP = {
    "type": "object",
    "properties": {"list": {"type": "array", "items": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/x"}]}}},
    "$defs": {"x": {"type": "object", "properties": {"when": {"type": "string", "format": "someday"}}}},
}


def refused(**fields: Any) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        served(**fields)
    assert "\n" not in str(caught.value)
    assert caught.value.param is not None
    assert caught.value.param.partition(".")[0].partition("[")[0] in fields
    return caught.value


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        # case 89: patterns
        ({"type": "string", "pattern": "(?=x)y"}, ".pattern"),
        ({"type": "string", "pattern": "(open"}, ".pattern"),
        ({"type": "object", "properties": {"a": {"pattern": r"(a)\1"}}}, ".properties.a.pattern"),
        # not valid in a schema
        ({"type": "objekt"}, ".type"),
        ({"properties": {"a": {"minLength": -1}}}, ".properties.a.minLength"),
        ({"anyOf": []}, ".anyOf"),
        ({"items": [{"type": "string"}]}, ".items"),
        ({"required": "a"}, ".required"),
        # not supported
        ({"type": "array", "uniqueItems": True}, ".uniqueItems"),
        ({"type": "array", "items": {"not": {"type": "null"}}}, ".items.not"),
        ({"type": "object", "properties": {"a": {"contains": {}}}}, ".properties.a.contains"),
        ({"if": {"type": "null"}, "then": {}}, ".if"),
        ({"anyOf": [{"type": "null"}, {"type": "object", "propertyNames": {}}]}, ".anyOf[1].propertyNames"),
        (DEEP, ".$defs.x.properties.when.format"),
        ({"prefixItems": [{"oneOf": [{"type": "string"}, {"maxLength": 3}]}]}, ".prefixItems[0].oneOf"),
        # the schema has no say in what is obeyed
        ({"type": "array", "uniqueItems": True, "x-guidance": {"lenient": True}}, ".uniqueItems"),
        # nothing is permitted
        (
            {
                "type": "object",
                "properties": {"a": {"minimum": 3, "maximum": 2, "type": "integer"}},
                "required": ["a"],
            },
            ".properties.a.minimum",
        ),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/x"}}}, ".$defs.x.$ref"),
        ({"enum": []}, ".enum"),
        # references
        ({"properties": {"a/b": {"$ref": "#/$defs/nowhere"}}}, ".properties.a/b.$ref"),
        ({"properties": {"a": {}, "b": {"$ref": "https://example.org/s"}}}, ".properties.b.$ref"),
    ],
)
def test_a_schema_is_refused_with_the_place(schema: dict[str, Any], place: str) -> None:
    assert refused(response_format=json_format(schema)).param == AT + place


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [(r"^a\!$", {"a!"}), (r"^\d{3}$", None), ("^plain$", {"plain"}), ("^[ab]$", {"a", "b"})],
)
def test_patterns_that_can_be_obeyed_are(pattern: str, matching: set[str] | None) -> None:
    # case 89
    service = served(response_format=json_format({"type": "string", "pattern": pattern}, strict=True))
    for seed in range(5):
        text = parsed(answer_to(constrained(service, sampling=sampled_at(1, seed))))
        assert text in matching if matching else text.isdigit() and len(text) == 3


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        # case 96
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, AT),
        ({"response_format": json_format("text")}, AT),
        ({"response_format": json_format(True)}, AT),
        ({"response_format": {"type": "json_object", "schema": {"type": 1}}}, "response_format.schema.type"),
        ({"json_schema": [1]}, "json_schema"),
        ({"guided_json": "{"}, "guided_json"),
        ({"regex": ""}, "regex"),
        ({"regex": 5}, "regex"),
        ({"regex": "(open"}, "regex"),
        ({"regex": r"\bword"}, "regex"),
        ({"grammar": ""}, "grammar"),
        ({"grammar": "root ::= "}, None),
        ({"grammar": 'root ::= "open'}, "grammar"),
        ({"grammar": "root ::= missing"}, "grammar"),
        ({"grammar": 'other ::= "a"'}, "grammar"),
        ({"grammar": 'start: "a" missing'}, "grammar"),
        ({"grammar": "root ::= " + "(" * 5000}, "grammar"),
        ({"guided_choice": []}, "guided_choice"),
        ({"guided_choice": [""]}, "guided_choice"),
        ({"guided_choice": "a"}, "guided_choice"),
        ({"structured_outputs": {}}, "structured_outputs"),
        ({"structured_outputs": {"regex": "a", "choice": ["b"]}}, "structured_outputs"),
        ({"structured_outputs": {"structural_tag": {}}}, "structured_outputs"),
        ({"structured_outputs": {"regex": "("}}, "structured_outputs.regex"),
        ({"structured_outputs": "a"}, "structured_outputs"),
        ({"regex": "a", "grammar": "b"}, "grammar"),
        ({"response_format": {"type": "json_object"}, "regex": "a"}, "regex"),
        ({"functions": [{}]}, "functions"),
        ({"function_call": "auto"}, "function_call"),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(fields: dict[str, Any], param: str | None) -> None:
    if param is None:
        served(**fields)  # an empty answer is an answer
    else:
        assert refused(**fields).param == param


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def test_a_schema_that_is_nested_too_deeply_is_refused() -> None:
    assert served(response_format=json_format(deep(20)))
    assert refused(response_format=json_format(deep(3000))).param == AT


def test_tools_are_for_chats() -> None:
    structure = structure_on(FakeBackend())
    with pytest.raises(InvalidRequest, match="for chats"):
        structure.serve(ApiRequest("completions", {"tools": []}, 1, False))
    assert structure.serve(ApiRequest("completions", {"regex": "a+"}, 1, False)) is not None


def test_a_request_without_structure_costs_nothing() -> None:
    structure = structure_on(FakeBackend())
    assert structure.serve(ApiRequest("chat", {"top_k": 1}, 1, False)) is None
    assert structure.tokenizer._built is None
