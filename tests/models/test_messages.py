from __future__ import annotations

import pytest

from reame_core.errors import InvalidRequest
from reame_core.models.messages import (
    normalise,
    with_arguments_as_text,
    with_parts,
    with_system_in_user_turns,
)

HALF = "\ud83d"


def user(content: object, **more: object) -> dict[str, object]:
    return {"role": "user", "content": content, **more}


@pytest.mark.parametrize(
    ("messages", "param", "says"),
    [
        ([], "messages", "messages is empty: give at least one message"),
        ("hello", "messages", "must be a list"),
        ({"role": "user"}, "messages", "must be a list"),
        (["hello"], "messages[0]", "must be an object"),
        (
            [{"content": "x"}],
            "messages[0].role",
            "is missing; it can be system, developer, user, assistant or tool",
        ),
        ([user("a"), {"role": "banana"}], "messages[1].role", "is 'banana'; it can be system, developer"),
        ([{"role": ["user"]}], "messages[0].role", "is 'list'"),
        ([{"role": "a\nb"}], "messages[0].role", r"is 'a\nb'"),
        ([user(7)], "messages[0].content", "must be a text or a list of text parts"),
        ([user(["x"])], "messages[0].content[0].type", "content[0] is no object"),
        ([user([{"type": "text"}])], "messages[0].content[0].text", "must be a text"),
        (
            [user([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}])],
            "messages[0].content[1].type",
            "is 'image_url'; this model reads only parts of type text",
        ),
        ([user([{}])], "messages[0].content[0].type", "is None"),
        ([user("x" + HALF)], "messages[0]", "half a character (U+D83D)"),
        ([user("x", name=HALF)], "messages[0]", "half a character"),
        ([{"role": "assistant", "tool_calls": 3}], "messages[0].tool_calls", "must be a list"),
        ([{"role": "assistant", "tool_calls": [3]}], "messages[0].tool_calls[0]", "must be an object"),
    ],
)
def test_refusals_name_the_field(messages: object, param: str, says: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        normalise(messages)
    assert caught.value.param == param
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_half_character_escaped_in_arguments_is_found() -> None:
    call = {"function": {"name": "f", "arguments": '{"a": "\\ud83d"}'}}
    with pytest.raises(InvalidRequest, match="half a character"):
        normalise([{"role": "assistant", "tool_calls": [call]}])


def test_endless_nesting_is_refused() -> None:
    nested: object = "x"
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(InvalidRequest, match="nested too deeply"):
        normalise([user("x", extra=nested)])


@pytest.mark.parametrize("role", ["user", "system", "assistant"])
def test_parts_are_joined(role: str) -> None:
    parts = [{"type": "text", "text": "Say "}, {"type": "text", "text": "PLUM"}]
    assert normalise([{"role": role, "content": parts}]) == [{"role": role, "content": "Say PLUM"}]


def test_developer_is_system() -> None:
    assert normalise([{"role": "developer", "content": "x"}]) == [{"role": "system", "content": "x"}]


def test_null_missing_and_empty_content_are_one() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    forms = [
        normalise([{"role": "assistant", "tool_calls": calls, **content}])
        for content in ({"content": None}, {}, {"content": ""}, {"content": []})
    ]
    assert all(form == forms[0] for form in forms)
    assert forms[0][0]["content"] == ""


def test_nulls_and_empty_calls_are_dropped_and_the_rest_kept() -> None:
    given = user("x", name="Ann", tool_calls=[], refusal=None, reasoning_content="hm")
    assert normalise([given]) == [user("x", name="Ann", reasoning_content="hm")]
    assert given["tool_calls"] == []


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [('{"a": [1]}', {"a": [1]}), ({"a": 1}, {"a": 1}), ("not json", "not json"), ("[1]", "[1]"), ("", "")],
)
def test_arguments_become_objects_where_they_can(arguments: object, seen: object) -> None:
    call = {"id": "1", "function": {"name": "f", "arguments": arguments}}
    (message,) = normalise([{"role": "assistant", "tool_calls": [call]}])
    assert message["tool_calls"] == [{"id": "1", "function": {"name": "f", "arguments": seen}}]


def test_arguments_as_text_again() -> None:
    call = {"function": {"name": "f", "arguments": {"a": "é"}}}
    (message,) = with_arguments_as_text([{"role": "assistant", "content": "", "tool_calls": [call, 5]}])
    assert message["tool_calls"] == [{"function": {"name": "f", "arguments": '{"a": "é"}'}}, 5]


def test_system_texts_move_into_the_next_user_turn() -> None:
    def said(*pairs: tuple[str, str]) -> list[dict[str, object]]:
        return [{"role": role, "content": content} for role, content in pairs]

    assert with_system_in_user_turns(
        said(
            ("system", "A"), ("system", "B"), ("user", "1"), ("assistant", "2"), ("system", "C"), ("user", "3")
        )
    ) == said(("user", "A\n\nB\n\n1"), ("assistant", "2"), ("user", "C\n\n3"))
    assert with_system_in_user_turns(said(("system", "A"))) == said(("user", "A"))


def test_parts_form() -> None:
    assert with_parts([user("x")]) == [user([{"type": "text", "text": "x"}])]
