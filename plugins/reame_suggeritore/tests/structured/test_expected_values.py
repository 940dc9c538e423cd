"""What a prompt lets expect of the values of an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_suggeritore.structured.json_place import JsonPlace
from reame_suggeritore.structured.source_text import SourceText

from plugins.reame_suggeritore.tests.structured.support import (
    constrained,
    hooks_of,
    json_format,
    parsed,
    served,
)
from reame_core.testing import FakeBackend
from tests.engine.support import engine_on, play, thorough

INVOICE = SourceText(
    "Vendor: Rossi & Figli srl, Torino\nInvoice-Number = RF/117\nSubtotal 148.10  VAT 32\n"
    "Total due: EUR 180.68\n"
)


@pytest.mark.parametrize(
    ("begun", "rest"),
    [("Ros", "si & Figli srl"), ("R", "ossi & Figli srl"), ("RF", "/117"), ("ossi", None), ("Xy", None)],
)
def test_a_text_goes_on_as_in_the_prompt(begun: str, rest: str | None) -> None:
    assert INVOICE.rest_of_text(begun) == rest


@pytest.mark.parametrize(
    ("begun", "rest"), [("14", "8.10"), ("148.1", "0"), ("32", ""), ("8", None), ("-1", None), ("180.68", "")]
)
def test_a_number_goes_on_as_in_the_prompt(begun: str, rest: str | None) -> None:
    assert INVOICE.rest_of_number(begun) == rest


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("vendor", "Rossi & Figli srl", None),
        ("invoice_number", "RF/117", "117"),
        ("invoiceNumber", None, None),
        ("total", None, "180.68"),
        ("subtotal", None, "148.10"),
        ("vat", None, "32"),
        ("missing", None, None),
        ("", None, None),
    ],
)
def test_values_stand_behind_their_names(name: str, text: str | None, number: str | None) -> None:
    assert INVOICE.text_called(name) == text
    assert INVOICE.number_called(name) == number


def test_values_come_in_the_order_of_the_prompt() -> None:
    source = SourceText("10 apples\n12 pears\n10 plums\n12 quinces\n")
    assert source.rest_of_text("1") == "0 apples"
    source.found("12 pears")
    assert source.rest_of_text("1") == "0 plums"
    source.found("12 quinces")
    assert source.rest_of_text("1") == "0 apples"
    source.found("not there")
    assert source.rest_of_text("1") == "0 apples"


VALUES = st.recursive(
    st.one_of(
        st.booleans(), st.integers(-99, 99), st.floats(-9, 9, width=16), st.text('a"\\,:{}[]é', max_size=5)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text('k"\\:', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def strings_and_numbers(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in strings_and_numbers(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in strings_and_numbers(inner)]
    if isinstance(value, bool):
        return []
    shown = json.dumps(value, ensure_ascii=False)
    return [shown[1:-1] if isinstance(value, str) else shown]


@thorough(80)
@given(VALUES)
def test_places_in_json(value: Any) -> None:
    text = json.dumps([value], ensure_ascii=False)
    place = JsonPlace()
    ended = [each for char in text for each in place.read(char)]
    assert ended == strings_and_numbers(value)
    assert (place.in_string, place.in_number, place.value) == (False, False, "")
    assert JsonPlace().read(text) == ended


def test_a_place_that_is_only_tried() -> None:
    place = JsonPlace()
    place.read('{"name": {"first"')
    tried = place.after(': "A')
    assert (tried.in_string, tried.key, tried.value) == (True, "first", "A")
    assert (place.in_string, place.key) == (False, "first")
    assert place.after(":").expects_value
    assert not place.expects_value
    place.read(': "A", "last": "B"}, "age": 3')
    assert (place.key, place.in_number, place.value) == ("age", True, "3")


def test_values_of_the_prompt_are_drafted_with_what_follows_them() -> None:
    schema = {
        "type": "object",
        "properties": {"vendor": {"type": "string"}, "total": {"type": "integer"}, "paid": {"type": "boolean"}},
        "required": ["vendor", "total", "paid"],
        "additionalProperties": False,
    }
    text = "Vendor: Kessler and Daughters of Inverness\nTotal: 6680 EUR\n"
    reply = '{"vendor": "Kessler and Daughters of Inverness", "total": 6680, "paid": true}'
    request = constrained(served(response_format=json_format(schema)), text)
    replies = {text: reply}
    engine = engine_on(FakeBackend(replies=replies), hooks_of())
    [answer] = play(engine, request)[0]
    assert parsed(answer) == json.loads(reply)
    assert play(engine_on(FakeBackend(replies=replies)), request)[0].said == [answer.said]
    drafted, accepted = answer.usage.drafts["suggeritore"]
    assert accepted >= 0.9 * drafted
    assert accepted >= 0.85 * answer.usage.completion
