"""Numbers as models and people write them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_conclave.judges.markup import READ
from reame_conclave.judges.numbers import FinalNumber, LastNumber, final_number, whole_number
from reame_conclave.judges.numerals import shown

from tests.engine.support import thorough

WHOLE = [
    # plain, signs
    ("5", "5"),
    ("5.0", "5"),
    ("5.", "5"),
    ("+5", "5"),
    ("-5", "-5"),
    ("−5", "-5"),
    ("–5", "-5"),
    ("$-5", "-5"),
    ("-$5", "-5"),
    ("x = -5", "-5"),
    ("007", "7"),
    (".5", "0.5"),
    ("٥", "5"),
    ("５", "5"),
    # thousands and decimals, in the ways of several countries
    ("1,234", "1234"),
    ("1,234.50", "1234.5"),
    ("1.234,50", "1234.5"),
    ("1 234,5", "1234.5"),
    ("1\u202f234\u202f567", "1234567"),
    ("1\u00a0000", "1000"),
    ("1'234.5", "1234.5"),
    ("1’234", "1234"),
    ("1.234.567", "1234567"),
    ("1,234,567", "1234567"),
    ("1,00,000", "100000"),
    ("12,5", "12.5"),
    ("12,50", "12.5"),
    ("0,125", "0.125"),
    ("1.234", "1.234"),
    ("100 000", "100000"),
    # fractions and percent
    ("3/4", "0.75"),
    ("-3/4", "-0.75"),
    ("1/3", "1/3"),
    ("3 1/2", "3.5"),
    ("½", "0.5"),
    ("3½", "3.5"),
    ("50%", "0.5"),
    ("50 percent", "0.5"),
    ("12.5 %", "0.125"),
    # powers and magnitudes
    ("1.5e3", "1500"),
    ("2E-2", "0.02"),
    ("1.5 × 10^3", "1500"),
    ("3 * 10^2", "300"),
    ("2 million", "2000000"),
    ("3.5 thousand", "3500"),
    ("3 dozen", "36"),
    # LaTeX and Markdown
    (r"\frac{3}{4}", "0.75"),
    (r"\dfrac{1}{2}", "0.5"),
    (r"\frac34", "0.75"),
    (r"3\frac{1}{2}", "3.5"),
    (r"$-\frac{1}{2}$", "-0.5"),
    (r"$1.5\times 10^{3}$", "1500"),
    (r"\$1{,}000", "1000"),
    (r"1\,000", "1000"),
    (r"50\%", "0.5"),
    (r"\text{5 apples}", "5"),
    (r"5\text{ km}", "5"),
    (r"\(5\)", "5"),
    ("**5**", "5"),
    ("`5`", "5"),
    # units and words around it
    ("$18", "18"),
    ("18 €", "18"),
    ("5km", "5"),
    ("5 km/h", "5"),
    ("10 m²", "10"),
    ("20 °C", "20"),
    ("5 apples", "5"),
    ("5 (out of 12)", "5"),
    ("12 * 13 - 50 = 106", "106"),
    ("≈ 3.14", "3.14"),
    ("5 because 3 + 2 = 5", "5"),
    ("She has 12, eats 7 and is left with 5", "5"),
    # words
    ("five", "5"),
    ("Five.", "5"),
    ("twenty-one", "21"),
    ("one hundred and five", "105"),
    ("a hundred", "100"),
    ("minus two", "-2"),
    ("negative twelve", "-12"),
    ("three point one four", "3.14"),
    ("two and a half", "2.5"),
    ("a third", "1/3"),
    ("three quarters", "0.75"),
    ("fifty percent", "0.5"),
    ("a dozen", "12"),
    ("three dozen eggs", "36"),
    ("five apples", "5"),
    ("two million", "2000000"),
    ("zweiundvierzig", "42"),
    ("vingt et un", "21"),
    ("treinta y dos", "32"),
    ("ventuno", "21"),
    ("vinte e um", "21"),
]
NONE = [
    "",
    "   ",
    "no idea",
    "3.11.2",
    "12:30",
    "2024-05-06",
    "5/6/2024",
    "10-5",
    "3, 5, 7",
    "5 and 7",
    "3 or 4",
    "x = 3 = 4 5",
    "1/0",
    "1e99999",
    "9" * 200,
    "H2O",
    "x2",
    "oh no",
    "second",
]


@pytest.mark.parametrize(("text", "value"), WHOLE)
def test_a_number_and_little_else(text: str, value: str) -> None:
    found = whole_number(text)
    assert found is not None
    assert shown(found) == value


@pytest.mark.parametrize("text", NONE)
def test_no_number_or_several(text: str) -> None:
    assert whole_number(text) is None


FINAL = [
    ("There are 12 eggs, so she has 5 left.", "5"),
    ("1. Add 2\n2. Add 3\n\nThe total is **5** apples.\nLet me know if you have questions!", "5"),
    ("She sold 48 and then 24. In total that's 72 clips.", "72"),
    ("So there are five apples left.", "5"),
    ("The cost is $18.", "18"),
    ("The answer is one", "1"),
    ("12 * 13 - 50\n= 156 - 50\n= 106", "106"),
    ("The result: 7 (which is prime).", "7"),
    ("It takes 3 steps:\n- first 1\n- then 2\n\nTotal: 1,5", "1.5"),
    ("It began in 1789.", "1789"),
    ("The change is -12 degrees.", "-12"),
    # numbers on the way, of list items, and "one" are none
    ("It began in 1789 and changed the world for ever in many ways.", None),
    ("1. Do this\n2. Do that\n3. Rest well", None),
    ("That is the right one.", None),
    ("Snow White and the 7 dwarfs, who sing all day long in the forest.", None),
    ("The 1st thing to do is to think about it.", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "value"), FINAL)
def test_a_final_number_is_not_one_on_the_way(text: str, value: str | None) -> None:
    found = final_number(text)
    assert (None if found is None else shown(found)) == value


def test_the_last_number_of_all_where_that_is_wanted() -> None:
    text = "It began in 1789 and changed the world for ever in many ways."
    assert FinalNumber().read(text) is None
    answer = LastNumber().read(text)
    assert answer is not None
    assert answer.shown == "1789"
    assert LastNumber().read("1. Do this\n2. Do that") is None
    assert LastNumber().read("nothing") is None


@given(st.integers(-(10**15), 10**15), st.integers(0, 6))
@thorough(60)
def test_every_number_is_read_as_it_was_written(digits: int, places: int) -> None:
    value = Fraction(digits, 10**places)
    assert whole_number(shown(value)) == value
    grouped = f"{digits:,}"
    if abs(digits) >= 1000:
        assert whole_number(grouped) == digits
        assert whole_number(grouped.replace(",", "\u202f")) == digits
        assert whole_number(grouped.replace(",", "'")) == digits


@given(st.fractions(-(10**15), 10**15, max_denominator=10**9))
@thorough(60)
def test_fractions_are_shown_as_they_can_be_read(value: Fraction) -> None:
    assert whole_number(shown(value)) == value


@given(st.text(max_size=300))
@thorough(60)
def test_any_text_can_be_read(text: str) -> None:
    FinalNumber().read(text)
    LastNumber().read(text)


@pytest.mark.parametrize(
    "piece", ["1", "1 111", "1,", "1.1", "{,}", "\\frac{1", "five ", "- ", "^", "1/", "(", "1 ("]
)
def test_endless_repetitions_take_no_time(piece: str) -> None:
    """Only what is looked at matters here: where backtracking went wild this test would not end."""
    text = piece * (2 * READ // len(piece))
    FinalNumber().read(text)
    LastNumber().read(text)
