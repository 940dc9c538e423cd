"""Votes in an engine: which candidates there are, what they share, and when they stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_conclave.report import tokens

from plugins.reame_conclave.tests.support import contested, hooks, started
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.request import Request, SamplingParams
from reame_core.testing import FakeBackend
from tests.engine.support import (
    Drafter,
    MemoryStore,
    Spied,
    check_empty,
    engine_on,
    greedy,
    plain,
    play,
    prompt,
    run,
    sampled,
    step,
    submit,
    thorough,
    words,
)

QUESTION = "what is it"
ENDS = ("e", "t")
"""Stop texts that make answers of different lengths."""


def question(tokens: int = 30, **fields: Any) -> Request:
    fields.setdefault("stop", ENDS)
    return greedy(QUESTION, tokens, **fields)


def answers_one_by_one(request: Request, **backend: Any) -> list[tuple[object, ...]]:
    """What each candidate says when it is asked for alone."""
    expected = []
    for choice in range(request.n):
        asked = replace(request, extra={}, wave=None)
        expected.append(plain(asked, **backend)[choice])
    return expected


def test_candidate_0_is_the_plain_greedy_answer_and_the_others_differ() -> None:
    request, ballot = contested(question(), n=5, stop="never")
    [answers] = play(engine_on(hooks=hooks(started()), parallel=5), request)
    assert answers.said == answers_one_by_one(request)
    assert answers[0].said == plain(question())[0]
    assert len({answer.text for answer in answers}) > 3
    assert ballot.verdict is not None
    assert answers.winner == ballot.verdict.winner
    temperatures = [sampling.temperature for sampling in request.sampling_by_choice]
    assert temperatures == pytest.approx([0, 0.5, 0.5 + 0.4 / 3, 0.5 + 0.8 / 3, 0.9])
    assert {sampling.top_p for sampling in request.sampling_by_choice[1:]} == {0.95}


def test_candidate_0_of_a_drawn_answer_is_that_answer() -> None:
    asked = sampled(QUESTION, 20, seed=3, stop=ENDS)
    request, _ = contested(asked, n=4, stop="never", temperature=[0.2, 2.0])
    [answers] = play(engine_on(hooks=hooks(started())), request)
    assert answers[0].said == plain(asked)[0]
    assert [s.temperature for s in request.sampling_by_choice] == pytest.approx([0.9, 0.9, 1.1, 2.0])
    assert {s.top_p for s in request.sampling_by_choice} == {0.95}, "the request's own bound stays"


@pytest.mark.parametrize("seed", [None, 7])
def test_case_109_the_same_candidates_again(seed: int | None) -> None:
    """A greedy request has no chance in it, so its explorers are the same each time, even without a seed."""
    asked = question(sampling=SamplingParams(seed=seed))
    said = []
    for parallel in (1, 5, 5):
        request, _ = contested(asked, n=5, stop="never")
        [answers] = play(engine_on(hooks=hooks(started()), parallel=parallel), request)
        said.append(answers.said)
        assert len({text for text, *_ in answers.said}) == 5
        assert all(answer.ends == 1 for answer in answers)
    assert said[0] == said[1] == said[2]


def test_without_a_seed_drawn_candidates_are_drawn_anew() -> None:
    request, _ = contested(sampled(QUESTION, 20, seed=None), n=3, stop="never")
    engine = engine_on(hooks=hooks(started()))
    assert play(engine, request)[0].said != play(engine, request)[0].said


@pytest.mark.parametrize("parallel", [2, 3, 9])
def test_the_prompt_is_computed_once(parallel: int) -> None:
    backend = Spied(cells=1024)
    request, _ = contested(replace(question(6), prompt=words(100)), n=9, stop="never")
    [answers] = play(engine_on(backend, hooks(started()), parallel=parallel), request)
    assert sum(answer.usage.computed for answer in answers) == 100 + 8, "and its last token for each"
    assert sum(answer.usage.reused.get("ram", 0) for answer in answers) == 8 * 99


def test_a_majority_stops_the_others_in_mid_sentence() -> None:
    backend = FakeBackend(replies={QUESTION: "It is 5."}, cells=1024)
    long_winded = replace(question(60), stop=(), ignore_end=False)
    request, ballot = contested(long_winded, n=5, temperature=[0, 9], judge="number")
    [answers] = play(engine_on(backend, hooks(started()), parallel=5), request)
    assert ballot.poll is not None
    assert ballot.verdict is not None
    stopped = sorted(ballot.poll.running)
    assert stopped, "somebody wandered off at a temperature of 9"
    assert [answers[choice].reason for choice in stopped] == ["cancelled"] * len(stopped)
    assert answers.winner == ballot.verdict.winner
    assert answers[ballot.verdict.winner].text == "It is 5."
    assert ballot.poll.leading >= 3
    spent = tokens(ballot)
    assert spent["generated"] == sum(answer.usage.completion for answer in answers)
    assert spent["cancelled"] == sum(answers[choice].usage.completion for choice in stopped)


def test_rows_of_stopped_candidates_are_free_in_the_same_step() -> None:
    backend = FakeBackend(replies={QUESTION: "It is 5."}, cells=1024)
    engine = engine_on(backend, hooks(started()), parallel=5)
    request, _ = contested(replace(question(60), stop=()), n=5, temperature=[0, 9], judge="number")
    vote = submit(engine, request)
    waiting = submit(engine, greedy("somebody else", 5))
    step(engine)
    while not vote.done:
        assert len(engine.running) == 5 - sum(answer.ends for answer in vote)
        step(engine)
    assert "cancelled" in [answer.reason for answer in vote]
    assert engine.places >= 4
    step(engine)
    assert engine.running[0].request == waiting.request
    run(engine)
    assert waiting.said == plain(greedy("somebody else", 5))


@pytest.mark.parametrize("parallel", [1, 2, 4])
def test_more_candidates_than_places_queue(parallel: int) -> None:
    request, _ = contested(question(12), n=9, stop="never")
    engine = engine_on(hooks=hooks(started()), parallel=parallel)
    [answers, other] = play(engine, request, greedy("somebody else", 8))
    assert answers.said == answers_one_by_one(request)
    assert other.said == plain(greedy("somebody else", 8))
    check_empty(engine)


def test_windows_start_one_after_the_other_and_end_with_the_first_that_agrees() -> None:
    backend = FakeBackend(replies={QUESTION: "It is 5."}, cells=1024)
    request, ballot = contested(replace(question(40), stop=()), n=9, temperature=0, stop="window", window=3)
    engine = engine_on(backend, hooks(started()), parallel=9)
    answers = submit(engine, request)
    most = 0
    while not answers.done:
        step(engine)
        most = max(most, len(engine.running))
    assert most == 3
    assert [answer.usage.completion > 0 for answer in answers] == [True] * 3 + [False] * 6
    assert ballot.verdict is not None
    assert (ballot.verdict.consensus, ballot.verdict.how) == (3, "votes")
    check_empty(engine)


def test_a_window_that_disagrees_is_followed_by_the_next() -> None:
    request, ballot = contested(question(20), n=6, stop="window", window=2, judge="text")
    [answers] = play(engine_on(hooks=hooks(started()), parallel=6), request)
    assert answers.said == answers_one_by_one(request)
    assert ballot.poll is not None
    assert not ballot.poll.running


def test_a_vote_of_one_costs_nothing_more() -> None:
    # case 114
    backend = FakeBackend()
    request, ballot = contested(question(), n=1)
    [answers] = play(engine_on(backend, hooks(started())), request)
    assert answers.said == plain(question())
    lone = FakeBackend()
    play(engine_on(lone), question())
    assert backend.rows_computed == lone.rows_computed
    assert ballot.verdict is not None
    assert (ballot.verdict.winner, ballot.verdict.consensus) == (0, 1)


@pytest.mark.parametrize("when", [0, 1, 3, 8])
@pytest.mark.parametrize("window", [None, 2])
def test_case_111_a_disconnect_stops_all(when: int, window: int | None) -> None:
    engine = engine_on(hooks=hooks(started()), parallel=3)
    request, _ = contested(
        question(40, ignore_end=True, stop=()), n=7, **({"window": window} if window else {})
    )
    vote = submit(engine, request)
    other = submit(engine, greedy("somebody else", 12))
    for _ in range(when):
        step(engine)
    assert vote.group is not None
    engine.cancel(vote.group)
    assert [answer.reason for answer in vote] == ["cancelled"] * 7
    run(engine)
    assert other.said == plain(greedy("somebody else", 12))
    check_empty(engine)


def test_truncated_candidates_do_not_decide() -> None:
    backend = FakeBackend(replies={QUESTION: "It is 5."}, cells=1024)
    request, ballot = contested(replace(question(6), stop=()), n=3, temperature=0)
    [answers] = play(engine_on(backend, hooks(started())), request)
    assert [answer.reason for answer in answers] == ["length"] * 3
    assert ballot.verdict is not None
    assert ballot.verdict.consensus == 3, "nobody else can vote"


# Drafts of siblings


@pytest.mark.parametrize("parallel", [1, 2, 5])
@pytest.mark.parametrize("temperature", [0, 0.8])
def test_candidates_draft_from_the_one_ahead_and_say_the_same(parallel: int, temperature: float) -> None:
    asked = question(40, stop=(), ignore_end=True)
    with_drafts, _ = contested(asked, n=5, stop="never", temperature=temperature)
    engine = engine_on(FakeBackend(cells=2048), hooks(started(), drafts=True), parallel=parallel)
    [answers] = play(engine, with_drafts)
    assert answers.said == answers_one_by_one(with_drafts)
    if temperature == 0:
        accepted = sum(answer.usage.accepted for answer in answers)
        assert accepted > 100 if parallel == 1 else parallel == 5 or accepted > 50


@given(
    st.integers(1, 6),
    st.integers(1, 4),
    st.sampled_from(["majority", "beta", "window", "never"]),
    st.booleans(),
    st.integers(0, 3),
)
@thorough(25)
def test_everything_at_once(n: int, parallel: int, stop: str, drafts: bool, seed: int) -> None:
    """Votes among other users, over a store of prefixes, with drafts that lie: each candidate that ends says
    what it says alone, and whoever is not a candidate does not notice."""
    asked = replace(sampled(words(40, seed), 14, seed=seed), stop=("e",))
    request, ballot = contested(asked, n=n, stop=stop)
    others = [greedy(words(40, seed), 9), sampled("else", 12, seed=seed)]
    store, drafter = MemoryStore(), Drafter(lambda truth, limit: [*truth[:2], 5][:limit])
    drafter.learn(others[1])
    plugin = started()
    drafters = (*drafter.hooks.propose_draft.calls, *hooks(plugin, drafts=drafts).propose_draft.calls)
    together = EngineHooks(
        on_prefill=store.hooks.on_prefill,
        persist=store.hooks.persist,
        propose_draft=GuardedHook(drafters),
        select_winner=hooks(plugin).select_winner,
    )
    expected = answers_one_by_one(request, cells=1024)
    engine = engine_on(FakeBackend(cells=1024), together, parallel=parallel)
    answers, *rest = play(engine, request, *others)
    for said, alone in zip(answers, expected, strict=True):
        assert said.reason == "cancelled" or said.said == alone
    assert [answer.said for answer in rest] == [plain(other) for other in others]
    assert ballot.verdict is not None
    assert answers.winner == ballot.verdict.winner
    check_empty(engine)


def test_a_vote_that_stops_early_has_the_winner_of_the_full_vote() -> None:
    replies = {QUESTION: "so it is 7"}
    for seed in range(6):
        winners = []
        for stop in ("never", "majority"):
            asked = replace(question(24), sampling=SamplingParams(seed=seed), stop=())
            request, ballot = contested(asked, n=5, stop=stop, judge="number", temperature=[4, 6])
            engine = engine_on(FakeBackend(replies=replies, cells=1024), hooks(started()), parallel=5)
            [answers] = play(engine, request)
            assert ballot.verdict is not None
            winners.append((answers.winner, answers[ballot.verdict.winner].text))
        assert winners[0] == winners[1]


def test_prompt_tokens_of_other_tenants_are_not_drafted() -> None:
    """Siblings are those of one vote: two votes with one prompt share nothing but the prompt."""
    plugin = started()
    first, one = contested(question(20), n=2, stop="never")
    second, other = contested(question(20), n=2, stop="never")
    play(engine_on(hooks=hooks(plugin, drafts=True)), first, second)
    assert one.siblings is not other.siblings
    assert prompt(QUESTION) == first.prompt
