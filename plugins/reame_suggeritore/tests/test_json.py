"""JSON: keys, blanks, values like the earlier ones, brackets, the end."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_suggeritore.proposals.json.memory import Memory
from reame_suggeritore.proposals.json.proposer import Json
from reame_suggeritore.proposals.json.scanner import NotJson, Place, Scanner

from plugins.reame_suggeritore.tests.texts import drafted, gained, proposed
from tests.engine.support import thorough

PRETTY = '[\n  {\n    "name": "Ash",\n    "high": 21\n  },\n'
COMPACT = '[{"name": "Ash", "high": 21}, '


class TestKeys:
    @pytest.mark.parametrize("text", [PRETTY, COMPACT])
    def test_the_next_object_has_the_keys_of_the_one_before(self, text: str) -> None:
        found = proposed(text)
        assert found is not None
        assert "".join(found.split()) == '{"name":"'

    def test_in_the_middle_of_a_key(self) -> None:
        assert proposed(COMPACT + '{"na') == 'me": "'

    def test_behind_a_value_comes_the_next_key_as_it_was_written(self) -> None:
        assert proposed(PRETTY + '  {\n    "name": "Oak",\n') == '    "high": '
        assert proposed(COMPACT + '{"name": "Oak"') == ', "high": '

    def test_objects_within_objects_have_keys_of_their_own(self) -> None:
        one = '{"tree": {"name": "Ash", "high": 21}, "name": "Park"}'
        assert (proposed(f'[{one}, {{"tree": {{"name": "Oak"') or "").startswith(', "high": ')
        assert (proposed(f'[{one}, {{"tree": {{"name": "Oak", "high": 19}}') or "").startswith(', "name": "')

    def test_unknown_keys_have_a_quote(self) -> None:
        assert proposed('{"a": 1') is None
        assert proposed('{\n  "a": 1,\n') == '  "'


class TestValues:
    def test_a_value_like_the_others_may_be_complete(self) -> None:
        assert (proposed(COMPACT + '{"name": "Oak", "high": 19') or "").startswith("}, {")
        assert (proposed(COMPACT + '{"name": "Oak') or "").startswith('", "high": ')
        draft = drafted(COMPACT + '{"name": "Oak')
        assert draft is not None
        assert draft.label == "json ends"

    def test_values_that_are_all_the_same(self) -> None:
        text = '[{"a": 5, "b": "x", "ok": true}, {"a": 7, "b": "x", "ok": true}, {"a": 9'
        assert (proposed(text) or "").startswith(', "b": "x", "ok":')

    def test_values_that_count(self) -> None:
        text = '[{"id": 1, "b": "x y"}, {"id": 2, "b": "z"}, {'
        assert (proposed(text) or "").startswith('"id": 3, "b": "')

    def test_values_with_a_common_ending(self) -> None:
        text = '["ann@mail.com", "bob@mail.com", "cy'
        assert (proposed(text) or "").startswith("@mail.com")


class TestEnds:
    def test_the_end_token_behind_the_last_bracket(self) -> None:
        assert proposed(COMPACT + "]") is None, "a comma promised another item"
        assert proposed('{"a": 1}') == "<end>"

    def test_as_many_objects_as_were_asked_for(self) -> None:
        three = '[{"a": "x"}, {"a": "y"}, {"a": "z"}'
        assert proposed(three, "three objects") == "]<end>"
        assert (proposed(three, "four objects") or "").startswith(", {")

    def test_a_block_of_code_is_closed_first(self) -> None:
        assert proposed('```json\n{"a": 1}') == "\n```<end>"

    def test_arrays_are_as_long_as_the_ones_before(self) -> None:
        text = '[{"at": [1.5, 2.5]}, {"at": [3.5, 4.5]}, {"at": [5.5, 6.5'
        assert (proposed(text) or "").startswith("]}")


@pytest.mark.parametrize(
    "text", ["{a set}", "see [1] and [2]", "[x](y)\n", "if (x) { y(); }", "[ ] milk\n", "{}{"]
)
def test_other_brackets_are_not_json(text: str) -> None:
    reader = Json(lambda count: False)
    for character in text:
        reader.read(character)
    assert not reader.active


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.floats(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), VALUES) | st.lists(VALUES), st.sampled_from([None, 1, 2, 4, "\t"]))
@thorough(60)
def test_any_json_is_followed_to_its_end(value: object, indent: int | str | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    scanner = Scanner(Memory())
    for number, character in enumerate(text):
        assert scanner.place is not Place.DONE, text[:number]
        assert scanner.read(character) == ""
    assert scanner.place is Place.DONE
    assert scanner.read(" more") == " more"


@given(st.dictionaries(st.text(max_size=5), VALUES, min_size=1), st.integers(0, 200), st.sampled_from("}],:x"))
@thorough(60)
def test_what_is_no_json_is_given_up_and_nothing_else_raised(value: object, at: int, wrong: str) -> None:
    text = json.dumps(value)
    at %= len(text)
    scanner = Scanner(Memory())
    try:
        scanner.read(text[:at] + wrong + text[at:])
    except NotJson:
        return


@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=5), st.integers(0, 99)), min_size=4, max_size=7))
@thorough(20)
def test_an_array_of_objects_is_mostly_known(pairs: list[tuple[str, int]]) -> None:
    value = [{"name": name, "number": number} for name, number in pairs]
    right, _, tokens = gained(json.dumps(value, indent=2))
    assert right > tokens / 2
