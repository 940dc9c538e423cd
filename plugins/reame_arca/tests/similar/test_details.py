"""What two questions must have in common beside their vectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_arca.similar.details import details_of, difference

from bench.similar.questions import PAIRS

PIECES = [
    "not",
    "5",
    "Rome",
    "to",
    "milk",
    "don't",
    "`x`",
    "first",
    "1,000",
    "it's",
    "?",
    ".",
    "below",
    "ß",
    "’",
]
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=10).map(" ".join))


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("Give me 5 ideas", "Give me 6 ideas", "number"),
        ("Give me five ideas", "Give me 5 ideas", None),
        ("It costs 1,000", "It costs 1000", None),
        ("It costs 1.5", "It costs 15", "number"),
        ("From 3 to 5", "From 5 to 3", "number"),
        ("Is it safe?", "Isn't it safe?", "negation"),
        ("Is it safe?", "Isn’t it safe?", "negation"),
        ("How many count?", "How many amount?", "word"),
        ("Tea with milk", "Tea without milk", "negation"),
        ("What is Rome?", "What is Paris?", "name"),
        ("What is Rome known for?", "Please tell me what rome is known for", None),
        ("Read a.txt for me", "Read b.txt for me", "name"),
        ("Use `ls` now", "Use `rm` now", "name"),
        ("Explain utf8 to me", "Explain utf16 to me", "number"),
        ("Turn it on now", "Turn it off now", "opposite"),
        ("miles to kilometres", "kilometres to miles", "order"),
        ("Dog bites man", "Man bites dog", "order"),
        ("Feed my dog", "Feed my cat", "word"),
        ("What is tea?", "Explain tea", None),
    ],
)
def test_what_is_noticed(one: str, other: str, why: str | None) -> None:
    assert difference(one, other) == difference(other, one) == why


@given(TEXTS, TEXTS)
def test_nothing_differs_from_itself_and_each_from_the_other_alike(one: str, other: str) -> None:
    assert difference(one, one) is None
    assert difference(one, other) == difference(other, one)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_another_number_is_another_question(one: int, other: int) -> None:
    assert (difference(f"What is {one}?", f"What is {other}?") is None) == (one == other)


def test_of_the_pairs_that_are_measured_with_few_pass() -> None:
    passed = [pair for pair in PAIRS if pair.kind != "same" and difference(pair.one, pair.other) is None]
    assert len(passed) <= 1, passed
    same = [pair for pair in PAIRS if pair.kind == "same"]
    assert sum(difference(pair.one, pair.other) is None for pair in same) > len(same) / 2


def test_details_of_a_text() -> None:
    found = details_of("Don't send two PDFs to Anna before 12:30, please")
    assert found.numbers == ("2", "12:30")
    assert found.negations == 1
    assert found.names == {"pdfs", "anna"}
    assert found.directed
