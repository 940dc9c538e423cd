"""What a draft model's probabilities are worth is learned from what the served model says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from reame_draftmodel.trust import Guesses, Trust

from tests.engine.support import thorough

BELIEFS = st.floats(0, 1)


def test_at_first_it_is_believed_half_of_what_it_doubts() -> None:
    trust = Trust()
    assert [trust.chance(belief) for belief in (0.0, 0.5, 1.0)] == [0.5, 0.75, 1.0]


def test_what_is_seen_counts_for_tokens_given_about_as_much() -> None:
    trust = Trust()
    for _ in range(30):
        trust.observe(0.3, right=True)
        trust.observe(0.7, right=False)
    assert trust.chance(0.3) > 0.9
    assert trust.chance(0.7) < 0.15
    assert trust.chance(0.1) == Trust().chance(0.1)


def test_what_is_seen_no_more_is_forgotten() -> None:
    trust = Trust()
    for _ in range(50):
        trust.observe(0.3, right=False)
    believed = trust.chance(0.3)
    for _ in range(300):
        trust.fade(0.3)
    assert believed < 0.1 < 0.6 < trust.chance(0.3)


@given(st.lists(st.tuples(BELIEFS, st.booleans())), BELIEFS)
@thorough(100)
def test_chances_are_chances(seen: list[tuple[float, bool]], belief: float) -> None:
    trust = Trust()
    for each, right in seen:
        before = trust.chance(each)
        trust.observe(each, right=right)
        assert trust.chance(each) >= before - 1e-9 or not right
    assert 0 <= trust.chance(belief) <= 1


@given(st.lists(st.integers(0, 1), max_size=6), st.lists(st.integers(0, 1), max_size=8), st.integers(0, 3))
@thorough(100)
def test_guesses_are_compared_up_to_the_first_wrong_one(
    guessed: list[int], text: list[int], start: int
) -> None:
    class Noted(Trust):
        def observe(self, belief: float, *, right: bool) -> None:
            verdicts.append((belief, right))

    verdicts: list[tuple[float, bool]] = []
    guesses = Guesses(start, Noted())
    for place, token in enumerate(guessed):
        guesses.add(token, place / 10)
    guesses.compare(np.array(text, np.int32))
    pairs = list(zip(guessed, text[start:], strict=False))
    wrong = next((place for place, (ours, theirs) in enumerate(pairs) if ours != theirs), len(pairs))
    wanted = [(place / 10, place < wrong) for place in range(min(wrong + 1, len(pairs)))]
    assert verdicts == wanted
