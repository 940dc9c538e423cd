"""Who wins: tables, and what holds for every vote."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_conclave.judges.answer import Answer
from reame_conclave.poll import Poll, Vote
from reame_conclave.stopping import Agreement, Beta, Majority, Never, StopRule, Window, reaches, stays_ahead
from reame_conclave.verdict import Verdict, verdict

from tests.engine.support import thorough

ANSWERS = [Answer("number", Fraction(value), str(value)) for value in range(5)]


def said(text: str) -> Answer:
    return Answer("text", text, text)


def vote(choice: int, answer: int | None, logprob: float = -1.0, place: int | None = None) -> Vote:
    known = None if answer is None else ANSWERS[answer]
    return Vote(choice, choice if place is None else place, known, f"it is {answer}", logprob)


def full(*answers: int | None, logprobs: Sequence[float] = ()) -> Poll:
    """A vote in which all have ended, by number."""
    weights = logprobs or [-1.0] * len(answers)
    votes = tuple(vote(i, answer, weights[i]) for i, answer in enumerate(answers))
    return Poll(len(answers), frozenset(), votes)


def decided(poll: Poll) -> tuple[int, int, str]:
    found = verdict(poll)
    assert found is not None
    return found.winner, found.consensus, found.how


# Tables


@pytest.mark.parametrize(
    ("answers", "logprobs", "expected"),
    [
        ([1], [], (0, 1, "votes")),
        ([1, 1], [], (0, 2, "votes")),
        ([1, 2, 2], [], (1, 2, "votes")),
        ([1, 2, 3, 3, 4], [], (2, 2, "votes")),
        ([None, 2, None], [], (1, 1, "votes")),
        ([1, 2], [-2, -1], (1, 1, "tie")),
        ([1, 2], [-1, -1], (0, 1, "tie")),
        ([1, 2, 3], [-3, -1, -2], (1, 1, "tie")),
        ([1, 2, 1, 2], [-5, -1, -2, -4], (1, 2, "tie")),
        ([3, 1, 1, 2, 2], [-0.1, -5, -4, -3, -6], (3, 2, "tie")),
    ],
)
def test_who_wins(answers: list[int | None], logprobs: list[float], expected: tuple[int, int, str]) -> None:
    assert decided(full(*answers, logprobs=logprobs)) == expected


@pytest.mark.parametrize("answers", [[1], [1, 2], [1, 2, 3], [1, 1, 2, 2], [1, 2, 3, 4], [1, 2, 3, 3], [1, 1]])
def test_case_114_ties_do_not_depend_on_the_order(answers: list[int]) -> None:
    votes = [vote(i, answer, -1.0 - i * 0.7 % 1) for i, answer in enumerate(answers)]
    winners = set()
    for order in itertools.permutations(votes):
        arrived = tuple(replace(each, place=place) for place, each in enumerate(order))
        found = verdict(Poll(len(votes), frozenset(), arrived))
        assert found is not None
        winners.add((answers[found.winner], found.consensus, found.how))
        if found.how == "tie":
            assert found.winner == min(
                (i for i in range(len(votes)) if answers.count(answers[i]) == found.consensus),
                key=lambda i: (-votes[i].logprob, i),
            )
    assert len(winners) == 1


def texts(*spoken: str, cut: bool = False, logprobs: Sequence[float] = ()) -> Poll:
    votes = []
    for i, text in enumerate(spoken):
        answer = said(text.strip().lower()) if text.strip() else None
        votes.append(Vote(i, i, answer, text, logprobs[i] if logprobs else -1.0))
    return Poll(len(spoken), frozenset(), () if cut else tuple(votes), tuple(votes) if cut else ())


@pytest.mark.parametrize(
    ("poll", "expected"),
    [
        # nothing to vote for: the text nearest to all others, or else the most probable one
        (texts("red roses bloom", "red roses fade", "blue seas", "roses fade red"), (1, 3, "prose")),
        (texts("one two", "three four", logprobs=[-2, -1]), (1, 1, "prose")),
        (texts("the same", "the same", "another"), (0, 2, "votes")),
        (texts("", "", "", logprobs=[-2, -1, -3]), (1, 0, "probability")),
        (texts("", "a poem", ""), (1, 1, "votes")),
        (texts("cut off in", "cut off", "something else", cut=True), (0, 2, "prose")),
        (texts("cut", "cut", "off", cut=True), (0, 2, "votes")),
        (texts("", "", cut=True), (0, 0, "probability")),
    ],
)
def test_case_113_votes_without_an_answer(poll: Poll, expected: tuple[int, int, str]) -> None:
    assert decided(poll) == expected


def test_case_113_nobody_has_ended_well() -> None:
    assert verdict(Poll(3, frozenset(), ())) is None
    unread = Poll(2, frozenset(), tuple(replace(vote(i, None, -i), text="prose") for i in (1, 2)))
    assert decided(unread) == (1, 2, "prose")
    assert decided(Poll(1, frozenset(), (vote(0, None),))) == (0, 0, "probability")


def test_cut_candidates_vote_only_where_nobody_else_can() -> None:
    cut = (vote(1, 2), vote(2, 2))
    assert decided(Poll(3, frozenset(), (vote(0, 1),), cut)) == (0, 1, "votes")
    assert decided(Poll(3, frozenset(), (vote(0, None),), cut)) == (1, 2, "votes")
    assert decided(Poll(2, frozenset(), (), cut)) == (1, 2, "votes")
    assert not Poll(3, frozenset({0}), (), cut).voters, "somebody may still end by himself"


# Stopping


@dataclass(frozen=True)
class Ending:
    """How one candidate ends."""

    answer: int | None
    state: str
    logprob: float


def course(endings: Sequence[Ending], order: Sequence[int]) -> Iterator[Poll]:
    """What is known after each end, in that order; the last one is the full vote."""
    for count in range(1, len(order) + 1):
        running = frozenset(order[count:])
        done = [(choice, place, endings[choice]) for place, choice in enumerate(order[:count])]
        votes = {
            state: tuple(vote(c, e.answer, e.logprob, place) for c, place, e in done if e.state == state)
            for state in ("whole", "cut")
        }
        yield Poll(len(endings), running, votes["whole"], votes["cut"])


def stopped(endings: Sequence[Ending], order: Sequence[int], rule: StopRule) -> Poll:
    """The vote as it is when ``rule`` ends it."""
    return next(poll for poll in course(endings, order) if not poll.running or rule.over(poll))


endings = st.lists(
    st.builds(
        Ending,
        st.sampled_from([None, 0, 0, 1, 1, 2, 3]),
        st.sampled_from(["whole", "whole", "whole", "whole", "cut", "failed"]),
        st.sampled_from([-3.0, -2.0, -1.0, -0.5]),
    ),
    min_size=1,
    max_size=9,
)


@st.composite
def votes_in_order(draw: st.DrawFn) -> tuple[list[Ending], list[int]]:
    drawn = draw(endings)
    return drawn, draw(st.permutations(range(len(drawn))))


@given(votes_in_order())
@thorough(400)
def test_stopping_early_never_changes_the_winner(case: tuple[list[Ending], list[int]]) -> None:
    drawn, order = case
    early = verdict(stopped(drawn, order, Majority()))
    late = verdict(stopped(drawn, order, Never()))
    assert (early is None) == (late is None)
    if early is not None and late is not None:
        assert (early.winner, early.how) == (late.winner, late.how)
        assert early.consensus <= late.consensus


@given(votes_in_order(), st.sampled_from([0.0, 0.3, 0.5, 0.6, 0.8, 1.0]))
@thorough(300)
def test_stopping_early_never_changes_whether_enough_agree(
    case: tuple[list[Ending], list[int]], share: float
) -> None:
    drawn, order = case
    early, late = (stopped(drawn, order, Agreement(rule, share)) for rule in (Majority(), Never()))
    assert reaches(early.leading, len(drawn), share) == reaches(late.leading, len(drawn), share)


@given(votes_in_order())
@thorough(300)
def test_a_majority_stops_no_later_than_half_of_all(case: tuple[list[Ending], list[int]]) -> None:
    drawn, order = case
    poll = stopped(drawn, order, Majority())
    for earlier in course(drawn, order):
        if earlier == poll:
            break
        assert 2 * earlier.leading <= len(drawn)


@given(votes_in_order(), st.data())
@thorough(200)
def test_the_full_vote_is_about_answers_not_about_their_order(
    case: tuple[list[Ending], list[int]], data: st.DataObject
) -> None:
    drawn, order = case
    other = data.draw(st.permutations(order))
    one, two = (verdict(stopped(drawn, each, Never())) for each in (order, other))
    if one is None or two is None:
        assert one is two
        return
    assert (one.consensus, one.how) == (two.consensus, two.how)
    assert drawn[one.winner].answer == drawn[two.winner].answer
    if one.how != "votes":
        assert one.winner == two.winner


@given(votes_in_order())
@thorough(200)
def test_the_winner_has_ended_and_has_most_votes(case: tuple[list[Ending], list[int]]) -> None:
    drawn, order = case
    poll = stopped(drawn, order, Never())
    found = verdict(poll)
    standing = [i for i, ending in enumerate(drawn) if ending.state != "failed"]
    assert (found is None) == (not standing)
    if found is None:
        return
    assert found.winner in standing
    whole = [drawn[i].answer for i in standing if drawn[i].state == "whole" and drawn[i].answer is not None]
    if whole:
        assert drawn[found.winner].state == "whole"
        assert found.consensus == whole.count(drawn[found.winner].answer) == max(map(whole.count, whole))


@pytest.mark.parametrize(
    ("answers", "majority", "beta", "window"),
    [
        # after how many of nine the vote is over, by rule
        ([1] * 9, 5, 4, 3),
        ([1, 2, 1, 1, 1, 1, 1, 1, 1], 6, 6, 6),
        ([1, 1, 2, 2, 2, 2, 2, 1, 1], 7, 7, 6),
        ([1, 2, 3, 4, 1, 2, 3, 4, 1], 9, 9, 9),
    ],
)
def test_when_votes_are_over(answers: list[int], majority: int, beta: int, window: int) -> None:
    drawn = [Ending(answer, "whole", -1.0) for answer in answers]
    counts = []
    for rule in (Majority(), Beta(0.95), Window(3)):
        poll = stopped(drawn, range(9), rule)
        counts.append(9 - len(poll.running))
    assert counts == [majority, beta, window]
    assert not stopped(drawn, range(9), Never()).running


def test_a_window_counts_by_number_and_must_be_complete() -> None:
    drawn = [Ending(answer, "whole", -1.0) for answer in (1, 2, 1, 1, 1, 1, 1, 2, 2)]
    assert len(stopped(drawn, [0, 2, 3, 4, 1, 5, 6, 7, 8], Window(3)).running) == 3
    unread = [Ending(None, "whole", -1.0)] * 9
    assert not stopped(unread, range(9), Window(3)).running


@pytest.mark.parametrize(
    ("leading", "following", "probability"),
    [
        (0, 0, 0.5),
        (1, 0, 0.75),
        (3, 0, 0.9375),
        (4, 0, 0.96875),
        (2, 2, 0.5),
        (5, 1, 0.9375),
        (6, 1, 0.96484375),
    ],
)
def test_the_beta_posterior(leading: int, following: int, probability: float) -> None:
    assert stays_ahead(leading, following) == pytest.approx(probability)


@given(st.integers(0, 30), st.integers(0, 30))
@thorough(100)
def test_the_beta_posterior_is_that_of_the_integral(leading: int, following: int) -> None:
    """Against a sum of rectangles under x^leading (1 - x)^following."""
    steps = 2000
    heights = [(i + 0.5) / steps for i in range(steps)]
    curve = [x**leading * (1 - x) ** following for x in heights]
    assert stays_ahead(leading, following) == pytest.approx(sum(curve[steps // 2 :]) / sum(curve), abs=1e-3)


def test_a_verdict_says_how() -> None:
    assert verdict(full(1, 1, 2)) == Verdict(0, 2, "votes")
