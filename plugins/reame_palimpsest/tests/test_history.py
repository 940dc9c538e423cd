from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_palimpsest.generations import LONGEST_MATCH
from reame_palimpsest.history import History

from plugins.reame_palimpsest.tests.brute_force import longest_repetition
from plugins.reame_palimpsest.tests.support import tokens
from tests.engine.support import thorough


def history_of(*pieces: list[int]) -> History:
    history = History()
    for piece in pieces:
        history.append(tokens(*piece))
    return history


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=30), min_size=1, max_size=6),
    st.integers(2, 8),
)
@thorough(150)
def test_the_longest_repetitions_are_found(pieces: list[list[int]], least: int) -> None:
    history = history_of(*pieces)
    said = [token for piece in pieces for token in piece]
    assert history.tokens.tolist() == said
    if len(said) < 2:
        return
    length, places = history.longest(history.tokens, least)
    expected, all_places = longest_repetition(said, least)
    assert length == expected
    assert places.tolist() == all_places


@pytest.mark.parametrize("vocabulary", [5, 400, 100_000])
def test_the_index_and_the_rest_give_the_same_places(vocabulary: int) -> None:
    random = np.random.default_rng(vocabulary)
    said = random.integers(0, vocabulary, 2600).tolist()
    said += said[100:220] + said[2300:2340]
    at_once, by_and_by = history_of(said), history_of(*(said[at : at + 7] for at in range(0, len(said), 7)))
    length, places = at_once.longest(at_once.tokens, 2)
    assert length >= 40
    assert places.tolist() == [2340]
    again = by_and_by.longest(by_and_by.tokens, 2)
    assert (again[0], again[1].tolist()) == (length, [2340])


def test_a_frequent_pair_does_not_hide_a_long_repetition() -> None:
    said = [7, 8, 9, 1, 2, 5, *[1, 2, 3] * 500, 7, 8, 9, 1, 2]
    length, places = history_of(said).longest(tokens(*said), 2)
    assert (length, places.tolist()) == (5, [5])


def test_tokens_before_an_answer_are_not_proposed() -> None:
    history = History()
    history.append(tokens(1, 2, 3, 4, 1, 2, 5), answer_start=5)
    length, places = history.longest(tokens(9, 1, 2), 2)
    assert (length, places.tolist()) == (2, [6])
    assert history.longest(tokens(2, 3), 2)[0] == 0


def test_nothing_is_compared_further_back_than_the_longest_match() -> None:
    said = list(range(100)) * 3
    length, places = history_of(said).longest(tokens(*said), 2)
    assert (length, places.tolist()) == (LONGEST_MATCH, [100, 200])


def test_the_last_place_of_a_full_buffer() -> None:
    for size in range(505, 520):
        history = history_of([1, 2] * (size // 2))
        assert history.longest(history.tokens, 2)[0] == LONGEST_MATCH
