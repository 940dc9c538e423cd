"""Drafts from other candidates."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from reame_conclave.siblings import GRAM, LONGEST, Siblings

from reame_core.plugins.api import Draft
from tests.engine.support import thorough


def heard(*said: list[int]) -> Siblings:
    siblings = Siblings()
    for choice, tokens in enumerate(said):
        siblings.hear(choice, tokens)
    return siblings


def test_the_beginning_of_a_sibling() -> None:
    assert heard([1, 2, 3, 4], [], [1, 2]).propose(1, 9) == Draft([1, 2, 3, 4], match_length=0)
    assert heard([1, 2, 3, 4], [1]).propose(1, 2) == Draft([2, 3], match_length=1)
    assert heard([1, 2, 3, 4], [9]).propose(1, 2) is None


def test_the_longest_match_wins() -> None:
    siblings = heard([7, 1, 2, 3, 50], [8, 9, 1, 2, 3, 60, 61], [8, 9, 1, 2, 3])
    assert siblings.propose(2, 9) == Draft([60, 61], match_length=5)


def test_of_equal_matches_the_one_that_has_more_to_say() -> None:
    siblings = heard([7, 1, 2, 3, 50], [8, 1, 2, 3, 60, 61], [9, 1, 2, 3])
    assert siblings.propose(2, 9) == Draft([60, 61], match_length=3)


def test_nothing_from_oneself_and_nothing_from_who_is_not_ahead() -> None:
    assert heard([1, 2, 3, 1, 2, 3]).propose(0, 9) is None
    assert heard([1, 2, 3], [1, 2, 3]).propose(1, 9) is None
    assert Siblings().propose(0, 9) is None


def test_only_what_is_new_is_learnt() -> None:
    siblings = heard([1, 2, 3])
    siblings.hear(0, [1, 2, 3, 4])
    siblings.hear(0, [1, 2, 3, 4])
    siblings.hear(1, [1, 2, 3])
    assert siblings.propose(1, 9) == Draft([4], match_length=3)


@given(st.lists(st.lists(st.integers(0, 2), max_size=30), min_size=1, max_size=4), st.integers(1, 8))
@thorough(80)
def test_against_a_search_of_everything(said: list[list[int]], limit: int) -> None:
    mine = said[-1]
    siblings = heard(*said)
    draft = siblings.propose(len(said) - 1, limit)
    found = []
    for other in said[:-1]:
        for end in range(len(other)):
            length = 0
            while length < min(LONGEST, len(mine), end) and mine[-1 - length] == other[end - 1 - length]:
                length += 1
            if length >= GRAM or (len(mine) < GRAM and end == length == len(mine)):
                found.append((length, other[end : end + limit]))
    if not found:
        assert draft is None
        return
    assert draft is not None
    longest = max(length for length, _ in found)
    assert draft.match_length == longest
    assert list(draft.tokens) in [tokens for length, tokens in found if length == longest]
