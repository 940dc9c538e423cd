from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_palimpsest.follower import Follower
from reame_palimpsest.generations import Tokens
from reame_palimpsest.lookup import PromptLookup
from reame_palimpsest.match import Place, vote

from plugins.reame_palimpsest.tests.support import tokens
from tests.engine.support import thorough

STREAM = list(range(100, 160))


class Archive:
    """Finds ``STREAM`` by its first four tokens, and counts how often it is asked."""

    def __init__(self, stream: Sequence[int] = STREAM) -> None:
        self.stream = tokens(*stream)
        self.searches = 0

    def search(self, said: Tokens) -> Place | None:
        self.searches += 1
        found = said[-4:].tolist() == self.stream[:4].tolist()
        return Place(self.stream, 4, 4, 0.9) if found else None


def replay(
    follower: Follower, text: Sequence[int], known: int, windows: Sequence[int] = (8,)
) -> tuple[int, list[int]]:
    """Say ``text`` from ``known`` on as a greedy engine would; how many steps it took and the match lengths."""
    steps, lengths = 0, []
    while known < len(text):
        draft = follower.propose(tokens(*text[:known]), windows[steps % len(windows)])
        guesses = list(draft.tokens) if draft else []
        lengths.append(draft.match_length or 0 if draft else -1)
        right = 0
        while right < len(guesses) and known + right < len(text) and guesses[right] == text[known + right]:
            right += 1
        known += right + 1
        steps += 1
    return steps, lengths


def test_a_stream_is_followed_without_searching() -> None:
    archive = Archive()
    steps, lengths = replay(Follower(archive.search), STREAM, 4)
    assert steps == 7
    assert archive.searches == 1
    assert lengths == [4, 13, 22, 31, 40, 49, 58]


@pytest.mark.parametrize(
    ("edited", "steps"),
    [
        (STREAM, 7),
        ([*STREAM[:20], 7, *STREAM[21:]], 7),
        ([*STREAM[:20], 7, 8, 9, *STREAM[23:]], 9),
        ([*STREAM[:20], *STREAM[24:]], 6),
        ([*STREAM[:20], 7, 8, *STREAM[20:]], 9),
        ([*STREAM[:20], 7, *STREAM[25:]], 7),
    ],
    ids=["the same", "one replaced", "three replaced", "four left out", "two put in", "five replaced by one"],
)
def test_small_edits_are_followed_over(edited: list[int], steps: int) -> None:
    assert replay(Follower(Archive().search), edited, 4)[0] == steps


def test_after_an_edit_matches_are_short_and_less_certain() -> None:
    follower = Follower(Archive().search)
    assert follower.propose(tokens(*STREAM[:4]), 9) is not None
    draft = follower.propose(tokens(*STREAM[:8], 7), 3)
    assert draft is not None
    assert (list(draft.tokens), draft.match_length, draft.confidence) == (STREAM[9:12], 0, 0.6)
    draft = follower.propose(tokens(*STREAM[:8], 7, *STREAM[9:14]), 1)
    assert draft is not None
    assert (list(draft.tokens), draft.match_length) == (STREAM[14:15], 5)


def test_less_is_expected_of_the_past_where_answers_are_drawn() -> None:
    drafts = [
        Follower(Archive().search, temperature=temperature).propose(tokens(*STREAM[:4]), 3)
        for temperature in (0, 1)
    ]
    assert [draft.confidence for draft in drafts if draft] == [0.9, 0.45]


def test_a_lost_stream_is_given_up() -> None:
    archive = Archive()
    follower = Follower(archive.search)
    text = [*STREAM[:20], *[1] * 40]
    proposals = [follower.propose(tokens(*text[:known]), 4) for known in range(4, len(text))]
    assert proposals[-1] is None
    assert follower.propose(tokens(*text, *STREAM[:4]), 4) is not None


def test_the_end_of_a_stream_is_the_end_of_proposals() -> None:
    follower = Follower(Archive().search)
    for known in range(4, 60):
        draft = follower.propose(tokens(*STREAM[:known]), 8)
        assert draft is not None
        assert list(draft.tokens) == STREAM[known : known + 8]
    assert follower.propose(tokens(*STREAM), 8) is None


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=60), st.lists(st.integers(1, 9), min_size=1, max_size=5)
)
@thorough(100)
def test_any_text_can_be_said_in_any_steps(text: list[int], windows: list[int]) -> None:
    follower = Follower(Archive(text).search)
    steps, _ = replay(follower, text, 1, windows)
    assert steps <= len(text)


class TestPromptLookup:
    def lookup(self, said: Sequence[int], limit: int, least: int = 2) -> list[int]:
        draft = PromptLookup(least).propose(1, tokens(*said), limit)
        return list(draft.tokens) if draft else []

    def test_what_followed_before(self) -> None:
        assert self.lookup([1, 2, 3, 4, 5, 1, 2], 2) == [3, 4]

    def test_the_longest_match_wins_over_the_latest(self) -> None:
        assert self.lookup([9, 1, 2, 3, 7, 1, 2, 4, 9, 1, 2], 1) == [3]

    def test_of_equal_matches_the_latest_wins(self) -> None:
        assert self.lookup([8, 1, 2, 3, 7, 1, 2, 4, 9, 1, 2], 1) == [4]

    def test_what_repeats_goes_on_repeating(self) -> None:
        assert self.lookup([5, 6, 7] * 4, 8) == [5, 6, 7, 5, 6, 7, 5, 6]
        assert self.lookup([4, 4, 4], 5) == [4, 4, 4, 4, 4]

    def test_what_was_said_once_is_not_expected_for_ever(self) -> None:
        assert self.lookup([1, 2, 3, 4, 5, 6, 1, 2], 20) == [3, 4, 5, 6, 1, 2]

    @pytest.mark.parametrize("said", [[1], [1, 2], [1, 2, 3], [1, 1]])
    def test_nothing_to_go_by(self, said: list[int]) -> None:
        assert self.lookup(said, 4) == []

    def test_a_longer_match_may_be_asked_for(self) -> None:
        said = [1, 2, 3, 4, 1, 2, 3]
        assert self.lookup(said, 1, least=3) == [4]
        assert self.lookup(said, 1, least=4) == []

    def test_a_rewritten_text_is_followed(self) -> None:
        text = np.random.default_rng(1).integers(10, 200, 300).tolist()
        rewritten = list(text)
        for at in range(20, 290, 30):
            rewritten[at] = 5
        lookup = PromptLookup(2)
        said, steps = [*text, 1, 2, *rewritten[:2]], 0
        goal = [*text, 1, 2, *rewritten]
        while len(said) < len(goal):
            draft = lookup.propose(1, tokens(*said), 16)
            guesses = list(draft.tokens) if draft else []
            right = 0
            while right < len(guesses) and said == goal[: len(said)] and guesses[right] == goal[len(said)]:
                said.append(guesses[right])
                right += 1
                if len(said) == len(goal):
                    break
            if len(said) < len(goal):
                said.append(goal[len(said)])
            steps += 1
        assert steps <= 30

    def test_sequences_do_not_mix_and_are_forgotten(self) -> None:
        lookup = PromptLookup(2)
        assert lookup.propose(1, tokens(1, 2, 3, 1, 2), 1) is not None
        assert lookup.propose(2, tokens(4, 5, 1, 2), 1) is None
        assert lookup.sequences == 2
        lookup.forget(1)
        lookup.forget(1)
        assert lookup.sequences == 1

    def test_sequences_that_end_without_a_word_do_not_pile_up(self) -> None:
        lookup = PromptLookup(2)
        for sequence in range(1000):
            lookup.propose(sequence, tokens(1, 2), 1)
        assert lookup.sequences <= 256


@pytest.mark.parametrize(
    ("following", "chosen"),
    [([5], (0, 1)), ([5, 5], (1, 2)), ([5, 6], (1, 1)), ([5, 5, 6], (1, 2)), ([6, 5, 5, 6], (3, 2))],
)
def test_votes(following: list[int], chosen: tuple[int, int]) -> None:
    assert vote(following) == chosen
