"""Drafts change speed, never answers: whatever a draft holds and wherever the answer ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request, SamplingParams
from reame_core.engine.sampling import Sampler
from reame_core.engine.verification import verify_draft
from reame_core.plugins.api import Draft
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import (
    Drafter,
    FakeBackend,
    chi_square,
    engine_on,
    greedy,
    hook,
    plain,
    play,
    sampled,
    words,
)

Spoil = Callable[[list[int], int], Sequence[int]]


def right(truth: list[int], limit: int) -> list[int]:
    return truth[:limit]


def wrong(truth: list[int], limit: int) -> list[int]:
    return [(t + 1) % vocabulary.SIZE for t in truth[: min(limit, 5)]] or [97]


def mixed(truth: list[int], limit: int) -> list[int]:
    good = len(truth) % 4
    return [*truth[:good], *wrong(truth[good:], 3)]


def too_long(truth: list[int], limit: int) -> list[int]:
    return [*truth, *[98] * 300]


def right_then_wrong(truth: list[int], limit: int) -> list[int]:
    return [*truth[:3], 1, *truth[4:]][:limit]


SPOILS: dict[str, Spoil] = {f.__name__: f for f in (right, wrong, mixed, too_long, right_then_wrong)}

REQUESTS = [
    greedy("the first question", 24),
    sampled("the second question", 24, seed=1),
    sampled(words(50), 24, seed=2, n=3),
    greedy(words(70), 24, sampling=SamplingParams(repeat_penalty=1.3, frequency_penalty=0.4)),
    sampled("a third", 24, sampling=SamplingParams(temperature=1.2, presence_penalty=0.7, seed=5)),
]


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
@pytest.mark.parametrize("end_bias", [-2.0, 1.5])
@pytest.mark.parametrize("max_draft", [1, 4, 32])
def test_answers_equal_those_without_drafts(spoil: Spoil, end_bias: float, max_draft: int) -> None:
    # cases 43, 55, 62
    drafter = Drafter(spoil)
    for request in REQUESTS:
        drafter.learn(request, end_bias=end_bias)
    wanted = [plain(request, end_bias=end_bias) for request in REQUESTS]
    engine = engine_on(
        FakeBackend(cells=1024, end_bias=end_bias), drafter.hooks, parallel=4, max_draft=max_draft
    )
    assert [a.said for a in play(engine, *REQUESTS)] == wanted
    assert [play(engine, request)[0].said for request in REQUESTS] == wanted
    assert drafter.calls


def test_right_drafts_save_steps_and_are_counted() -> None:
    # cases 53, 55
    drafter = Drafter()
    request = greedy("the first question", 24, ignore_end=True)
    drafter.learn(request)
    engine = engine_on(hooks=drafter.hooks, max_draft=8)
    [answer] = play(engine, request)[0]
    assert answer.said == plain(request)[0]
    assert answer.usage.completion == 24
    # The prompt and the first 9 tokens, then 9, and the last 6.
    assert engine.steps == 3
    assert (answer.usage.drafted, answer.usage.accepted) == (8 + 8 + 5, 8 + 8 + 5)


def test_wrong_drafts_are_counted_as_tested_and_not_accepted() -> None:
    drafter = Drafter(wrong)
    request = greedy("the first question", 10, ignore_end=True)
    drafter.learn(request)
    [answer] = play(engine_on(hooks=drafter.hooks), request)[0]
    assert answer.usage.accepted == 0
    assert answer.usage.drafted == 5 * 5 + 4 + 3 + 2 + 1  # never more than there is room for


REPLY = "one two three four five"
SAYS = {"count": REPLY}
AFTER_THE_END = [*vocabulary.tokenize(REPLY), vocabulary.EOS, *vocabulary.tokenize(" and more")]


def said_with(draft_at: int, length: int, request: Request, script: list[int]) -> Any:
    """The answer where one draft of ``length`` tokens of ``script`` comes after ``draft_at`` tokens."""

    def propose(sequence: Any, limit: int) -> Draft | None:
        said = len(sequence.tokens) - sequence.prompt_length
        return Draft(script[said : said + min(length, limit)]) if said == draft_at else None

    engine = engine_on(FakeBackend(replies=SAYS), EngineHooks(propose_draft=hook(propose)), parallel=2)
    answer = play(engine, request)[0][0]
    assert answer.usage.accepted <= answer.usage.completion
    assert answer.usage.accepted <= answer.usage.drafted
    # Nothing behind the end of the answer stays in memory.
    held = [slot.held_tokens.tolist() for slot in engine.memory.resident]
    assert all(len(tokens) <= len(request.prompt) + answer.usage.completion for tokens in held)
    return answer


@pytest.mark.parametrize("draft_at", range(1, len(REPLY) + 1))
def test_the_end_token_inside_a_draft_ends_the_answer(draft_at: int) -> None:
    # case 44
    request = greedy("count", 60)
    wanted = plain(request, replies=SAYS)[0]
    assert wanted[0] == REPLY
    answer = said_with(draft_at, 32, request, AFTER_THE_END)
    assert answer.said == wanted
    assert answer.finished.stopped_by == vocabulary.EOS


@pytest.mark.parametrize("draft_at", range(1, len(REPLY), 2))
@pytest.mark.parametrize("length", [1, 2, 5, 32])
@pytest.mark.parametrize("stop", ["ee f", "two three", "five", "o", " "])
def test_a_stop_text_inside_a_draft_cuts_text_tokens_and_logprobs(
    draft_at: int, length: int, stop: str
) -> None:
    # case 46
    request = greedy("count", 60, stop=(stop,), logprobs=2)
    wanted = plain(request, replies=SAYS)[0]
    answer = said_with(draft_at, length, request, AFTER_THE_END)
    assert answer.said == wanted
    assert [p.token for p in answer.logprobs] == answer.tokens
    assert answer.text == REPLY[: REPLY.index(stop)]


@pytest.mark.parametrize("draft_at", range(1, len(REPLY), 2))
def test_a_stop_token_inside_a_draft(draft_at: int) -> None:
    request = greedy("count", 60, stop_tokens=frozenset({ord("f")}))
    answer = said_with(draft_at, 32, request, AFTER_THE_END)
    assert answer.said == plain(request, replies=SAYS)[0]
    if draft_at < REPLY.index("f"):
        assert answer.finished.stopped_by == ord("f")


@pytest.mark.parametrize("draft_at", range(1, len(REPLY), 3))
@pytest.mark.parametrize("max_tokens", [1, 2, 3, 9, len(REPLY), len(REPLY) + 1])
def test_max_tokens_with_a_draft(draft_at: int, max_tokens: int) -> None:
    # case 69
    request = greedy("count", max_tokens)
    answer = said_with(draft_at, 32, request, AFTER_THE_END)
    assert answer.said == plain(request, replies=SAYS)[0]
    assert answer.usage.completion == min(max_tokens, len(REPLY) + 1)


@pytest.mark.parametrize("free", [1, 2, 3, 5])
@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_drafts_at_the_end_of_the_context(free: int, spoil: Spoil) -> None:
    # case 52
    request = greedy(words(64 - free), None, ignore_end=True)
    drafter = Drafter(spoil)
    drafter.learn(request)
    engine = engine_on(FakeBackend(cells=64), drafter.hooks, context_length=64, max_draft=8)
    [answer] = play(engine, request)[0]
    assert answer.reason == "length"
    assert answer.usage.completion == free
    assert answer.said == play(engine_on(FakeBackend(cells=64), context_length=64), request)[0][0].said


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_logprobs_are_the_same_with_drafts(temperature: float) -> None:
    # case 47
    params = SamplingParams(temperature=temperature, seed=3)
    request = greedy("the first question", 24, sampling=params, logprobs=3)
    bare = play(engine_on(), request)[0][0]
    for spoil in SPOILS.values():
        drafter = Drafter(spoil)
        drafter.learn(request)
        drafted = play(engine_on(hooks=drafter.hooks), request)[0][0]
        assert drafted.logprobs == bare.logprobs
    assert len({p.logprob for p in bare.logprobs}) > 10


JUNK: list[Any] = [
    "a text",
    7,
    [1, 2, 3],
    Draft([-1]),
    Draft([vocabulary.SIZE]),
    Draft([97, 10**30]),
    Draft(["x"]),  # type: ignore[list-item]
    Draft([None]),  # type: ignore[list-item]
    Draft(None),  # type: ignore[arg-type]
    Draft([]),
    Draft([97.0, float("nan")]),  # type: ignore[list-item]
    Draft([97], [1.0], np.zeros((2, vocabulary.SIZE), np.float32)),
    Draft([97], [1.0], np.zeros((1, 3), np.float32)),
    Draft([97], [1.0], np.zeros((1, vocabulary.SIZE), np.float32)),
    Draft([97], [1.0], np.full((1, vocabulary.SIZE), np.nan, np.float32)),
    Draft([97], [1.0], np.full((1, vocabulary.SIZE), -1.0, np.float32)),
    Draft([97], [1.0], np.full((1, vocabulary.SIZE), 1.0, np.float32)),
    Draft([97], [1.0], [[0.5] * vocabulary.SIZE]),  # type: ignore[arg-type]
    Draft([97], [1.0], np.full((1, vocabulary.SIZE), "x")),
    Draft([97], [1.0], "distributions"),  # type: ignore[arg-type]
    Draft([97], [1.0], np.eye(1, vocabulary.SIZE, 98, dtype=np.float32)),
    Draft([97, 98], 0.5),  # type: ignore[arg-type]
    Draft([97, 98], confidence="high"),  # type: ignore[arg-type]
    Draft([97, 98], confidence=float("nan")),
    Draft([97, 98], confidence=-0.1),
    Draft([97, 98], confidence=2),
    Draft([97, 98], match_length="long"),  # type: ignore[arg-type]
    Draft([97, 98], match_length=1.5),  # type: ignore[arg-type]
    Draft([97, 98], match_length=-1),
]


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_junk_from_a_draft_plugin_changes_nothing(
    junk: Any, temperature: float, caplog: pytest.LogCaptureFixture
) -> None:
    # case 56
    request = greedy("the first question", 12, sampling=SamplingParams(temperature=temperature, seed=9))
    good = Drafter()
    good.learn(request)
    hooks = EngineHooks(propose_draft=hook(lambda sequence, limit: junk, good.propose))
    [answer] = play(engine_on(hooks=hooks), request)[0]
    assert answer.said == plain(request)[0]
    assert answer.usage.accepted > 0, "the next plugin was not asked"
    if junk != Draft([]):
        assert "plugin0" in caplog.text


def test_a_raising_draft_plugin_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    # case 56
    def propose(sequence: Any, limit: int) -> Draft:
        raise RuntimeError("no luck")

    request = greedy("the first question", 12)
    [answer] = play(engine_on(hooks=EngineHooks(propose_draft=hook(propose))), request)[0]
    assert answer.said == plain(request)[0]
    assert "no luck" in caplog.text


def test_numpy_tokens_are_a_draft() -> None:
    request = greedy("the first question", 12)
    drafter = Drafter(lambda truth, limit: np.array(truth[:limit], np.int64))  # type: ignore[arg-type,return-value]
    drafter.learn(request)
    [answer] = play(engine_on(hooks=drafter.hooks), request)[0]
    assert answer.said == plain(request)[0]
    assert answer.usage.accepted > 5


@pytest.mark.parametrize("case", ["recurrent", "speculate=False"])
def test_who_may_not_speculate_is_not_asked(case: str) -> None:
    drafter = Drafter()
    request = greedy("the first question", 12, speculate=case == "recurrent")
    drafter.learn(request)
    backend = FakeBackend(recurrent=case == "recurrent")
    [answer] = play(engine_on(backend, drafter.hooks), request)[0]
    assert answer.said == plain(request)[0]
    assert drafter.calls == 0
    assert answer.usage.drafted == 0


def test_drafts_of_several_users_keep_within_the_rows_and_outputs_of_a_batch() -> None:
    drafter = Drafter(too_long)
    requests = [greedy(f"user {i} asks", 30) for i in range(6)]
    for request in requests:
        drafter.learn(request)
    for max_rows, max_outputs in ((16, 64), (64, 9), (7, 7), (3, 3), (1, 1), (2, 64)):
        backend = FakeBackend(cells=1024, max_rows=max_rows, max_outputs=max_outputs)
        engine = engine_on(backend, drafter.hooks, parallel=6)
        found = [a.said for a in play(engine, *requests)]
        assert found == [plain(request) for request in requests]


def test_a_model_that_refuses_to_drop_rejected_tokens_starts_again() -> None:
    # case 6
    class Refusing(FakeBackend):
        def truncate(self, sequence: int, length: int) -> bool:
            return length == 0 and super().truncate(sequence, length)

    drafter = Drafter(mixed)
    requests = [greedy("the first question", 12), sampled(words(40), 12, seed=4)]
    for request in requests:
        drafter.learn(request)
    engine = engine_on(Refusing(), drafter.hooks)
    for request in requests * 2:
        assert play(engine, request)[0].said == plain(request)


# The distribution stays what it is (Leviathan et al., Chen et al.).

VOCABULARY = 6
DEPTH = 3


def table(context: tuple[int, ...]) -> NDArray[np.float32]:
    """The logits of an invented model after ``context``: about 60/30/10 for three tokens, by the context."""
    rng = np.random.default_rng([1, *context])
    favourites = rng.permutation(VOCABULARY)[:3]
    line = np.full(VOCABULARY, -1e9, np.float32)
    line[favourites] = np.log([0.6, 0.3, 0.1])
    return line


def majority(context: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float32]:
    return np.eye(VOCABULARY, dtype=np.float32)[int(table(context).argmax())]


def rarest(context: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float32]:
    line = table(context)
    return np.eye(VOCABULARY, dtype=np.float32)[int(np.where(line < -100, 9, line).argmin())]


def even(context: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float32]:
    return np.full(VOCABULARY, 1 / VOCABULARY, np.float32)


def similar(context: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float32]:
    share = np.exp(table(context) * 0.5)
    return (share / share.sum()).astype(np.float32)


def story(seed: int, proposal: Any, params: SamplingParams, *, looked_up: bool) -> tuple[int, ...]:
    """DEPTH tokens of the invented model, with a draft of all that is missing at each step."""
    sampler = Sampler(replace(params, seed=seed), [])
    rng = np.random.default_rng([seed, 99])
    tokens: tuple[int, ...] = ()
    while len(tokens) < DEPTH:
        drafted: list[int] = []
        rows = []
        while proposal is not None and len(tokens) + len(drafted) < DEPTH - 1:
            q = proposal((*tokens, *drafted), rng)
            rows.append(q)
            drafted.append(int(rng.choice(VOCABULARY, p=q.astype(np.float64) / q.astype(np.float64).sum())))
        lines = np.array([table((*tokens, *drafted[:i])) for i in range(len(drafted) + 1)])
        if not drafted:
            token = sampler.choose(lines[0])
            sampler.accept(token)
            tokens = (*tokens, token)
            continue
        q_rows = None if looked_up else np.array(rows)
        verdict = verify_draft(Draft(drafted, None, q_rows), lines, sampler)
        sampler.accept(verdict.next_token)
        tokens = (*tokens, *drafted[: verdict.accepted], verdict.next_token)
    return tokens[:DEPTH]


def all_stories(params: SamplingParams) -> dict[tuple[int, ...], float]:
    shares: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(DEPTH):
        longer = {}
        for context, share in shares.items():
            sampler = Sampler(params, [])
            for token in context:
                sampler.accept(token)
            for token, p in enumerate(sampler.probabilities(table(context)).tolist()):
                if p > 0:
                    longer[*context, token] = share * p
        shares = longer
    return shares


@pytest.mark.parametrize("proposal", [majority, rarest, even, similar])
@pytest.mark.parametrize("looked_up", [True, False])
@pytest.mark.parametrize(
    "params",
    [SamplingParams(temperature=1.0), SamplingParams(temperature=1.3, top_p=0.95, presence_penalty=0.8)],
    ids=["plain", "cut and penalised"],
)
def test_drafts_keep_the_distribution_of_whole_answers(
    proposal: Any, looked_up: bool, params: SamplingParams
) -> None:
    # case 50: the 2nd and 3rd token as well
    wanted = all_stories(params)
    counts = dict.fromkeys(wanted, 0)
    for seed in range(500):
        counts[story(seed, proposal, params, looked_up=looked_up)] += 1
    assert chi_square(np.array(list(counts.values())), np.array(list(wanted.values())))


def test_looked_up_drafts_leave_every_single_answer_as_it_is() -> None:
    params = SamplingParams(temperature=1.0)
    for seed in range(100):
        bare = story(seed, None, params, looked_up=True)
        for proposal in (majority, rarest, even):
            assert story(seed, proposal, params, looked_up=True) == bare


@pytest.mark.parametrize("kind", ["majority", "rarest", "even"])
def test_sampled_drafts_in_an_engine_keep_the_distribution(kind: str) -> None:
    # case 50
    request = sampled(words(20), 2, sampling=SamplingParams(temperature=0.5, top_k=3), ignore_end=True)
    [shown] = play(engine_on(), replace(request, sampling=SamplingParams(), max_tokens=1, logprobs=20))[0]
    first = [t for t, _ in shown.logprobs[0].top[:3]]
    second: dict[int, dict[int, float]] = {}
    for token in first:
        [after] = play(engine_on(), greedy((*words(20), token), 1, logprobs=20))[0]
        second[token] = {t: math.exp(p / 0.5) for t, p in after.logprobs[0].top[:3]}
    rng = np.random.default_rng(4)

    def propose(sequence: Any, limit: int) -> Draft | None:
        options = second[int(sequence.tokens[-1])]
        q = np.zeros(vocabulary.SIZE, np.float32)
        if kind == "even":
            q[list(options)] = 1 / 3
        else:
            q[(max if kind == "majority" else min)(options, key=options.__getitem__)] = 1
        token = int(rng.choice(vocabulary.SIZE, p=q.astype(np.float64) / q.sum(dtype=np.float64)))
        return Draft([token], [float(q[token])], q[None])

    engine = engine_on(FakeBackend(), EngineHooks(propose_draft=hook(propose)), parallel=10)
    pairs: dict[tuple[int, ...], int] = {}
    drafted = 0
    for part in range(6):
        params = replace(request.sampling, seed=part)
        for answer in play(engine, replace(request, n=100, sampling=params, max_tokens=3))[0]:
            pairs[tuple(answer.tokens[:2])] = pairs.get(tuple(answer.tokens[:2]), 0) + 1
            drafted += answer.usage.drafted
    assert drafted > 0
    weight = {t: math.exp(p / 0.5) for t, p in shown.logprobs[0].top[:3]}
    wanted = {
        (a, b): weight[a] * p / sum(options.values())
        for a, options in second.items()
        for b, p in options.items()
    }
    assert set(pairs) <= set(wanted)
    counts = np.array([pairs.get(pair, 0) for pair in wanted])
    assert chi_square(counts, np.array(list(wanted.values())))
