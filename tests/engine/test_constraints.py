"""Constrained answers: the mask holds everywhere, and a failing constraint fails its request alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reame_core.engine.events import FinishReason
from reame_core.engine.exactness import ExactShapes
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request, SamplingParams
from reame_core.errors import EngineError
from reame_core.plugins.api import Draft, TokenChooser, Verdict
from reame_core.testing import FakeBackend, RuleConstraint
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import (
    Answers,
    chi_square,
    engine_on,
    greedy,
    hook,
    play,
    prompt,
    run,
    sampled,
    submit,
    thorough,
)

ENDS = frozenset({vocabulary.EOS, vocabulary.TURN_END})
DIGITS = frozenset(b"0123456789")


def numbers(length: int) -> Callable[[tuple[int, ...]], Collection[int]]:
    """From one digit to ``length`` of them."""

    def rule(said: tuple[int, ...]) -> Collection[int]:
        if len(said) == length:
            return ()
        return DIGITS | ENDS if said else DIGITS

    return rule


def one_of(*texts: str) -> Callable[[tuple[int, ...]], Collection[int]]:
    """One of ``texts``, byte by byte."""
    known = [tuple(text.encode()) for text in texts]

    def rule(said: tuple[int, ...]) -> Collection[int]:
        going_on = [text for text in known if text[: len(said)] == said]
        allowed = {text[len(said)] for text in going_on if len(text) > len(said)}
        return allowed | (ENDS if allowed and said in known else set())

    return rule


def bound(request: Request, rule: Callable[[tuple[int, ...]], Collection[int]]) -> Request:
    return replace(request, constraint=lambda _: RuleConstraint(rule, ENDS))


REQUESTS = [
    greedy("a number", 20),
    sampled("another number", 20, seed=3),
    greedy("with penalties", 20, sampling=SamplingParams(repeat_penalty=1.4, frequency_penalty=0.6)),
    sampled("hot", 20, sampling=SamplingParams(temperature=3.0, top_k=4, seed=1)),
    sampled("with a biased end", 20, sampling=SamplingParams(logit_bias={98: 100, 49: -3}, seed=1)),
    sampled("several", 20, n=3, sampling=SamplingParams(temperature=1.0, min_p=0.02, top_p=0.9, seed=9)),
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_only_what_is_allowed_is_generated(request_: Request) -> None:
    answers = play(engine_on(), bound(request_, numbers(12)))[0]
    for answer in answers:
        assert answer.reason == "stop"
        assert answer.text.isdigit()
        assert 1 <= len(answer.text) <= 12


def drafting(propose: Callable[[Any, int], Draft | None], **more: Any) -> EngineHooks:
    return EngineHooks(propose_draft=hook(propose), **more)


def guesses(*tokens: int) -> EngineHooks:
    return drafting(lambda sequence, limit: Draft(tokens[:limit]))


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("guess", [b"123", b"7a7", b"abc", b"0" * 16, bytes(range(48, 58))])
def test_drafts_change_nothing(request_: Request, guess: bytes) -> None:
    wanted = play(engine_on(), bound(request_, numbers(12)))[0].said
    for exact in (None, ExactShapes(1, 8)):
        assert (
            play(engine_on(hooks=guesses(*guess), exact=exact), bound(request_, numbers(12)))[0].said == wanted
        )


@thorough(40)
@given(
    guess=st.lists(st.sampled_from([*b"0123456789ab", *ENDS]), min_size=1, max_size=12),
    length=st.integers(1, 9),
    seed=st.integers(0, 5),
    temperature=st.sampled_from([0, 1, 4]),
)
def test_any_draft_changes_nothing(guess: list[int], length: int, seed: int, temperature: float) -> None:
    sampling = SamplingParams(temperature=temperature, seed=seed)
    request = bound(greedy(f"seed {seed}", 8, sampling=sampling, n=2, logprobs=3), numbers(length))
    wanted, got = (play(engine_on(hooks=hooks), request)[0] for hooks in (None, guesses(*guess)))
    assert got.said == wanted.said
    assert [answer.logprobs for answer in got] == [answer.logprobs for answer in wanted]


def test_only_the_allowed_beginning_of_a_draft_gets_rows() -> None:
    backend = FakeBackend()
    request = bound(greedy("a number", 20), numbers(9))
    [answer] = play(engine_on(backend, hooks=guesses(*b"99x99")), request)[0]
    drafted, accepted = answer.usage.drafts["plugin"]
    assert accepted <= drafted <= 2 * (answer.usage.completion)
    assert max(backend.row_counts[1:]) == 3


def test_a_draft_that_is_not_allowed_gets_no_row() -> None:
    [answer] = play(engine_on(hooks=guesses(*b"xyz")), bound(greedy("a number", 20), numbers(9)))[0]
    assert answer.usage.drafts == {}


def test_the_first_token_after_the_prompt_is_masked_with_and_without_a_draft() -> None:
    for hooks in (None, guesses(*b"yes")):
        [answer] = play(engine_on(hooks=hooks), bound(greedy("say no", 5), one_of("yes")))[0]
        assert answer.said == ("yes", tuple(b"yes"), "stop", None, 3)


@pytest.mark.parametrize(
    ("max_tokens", "text", "reason"), [(2, "ye", "length"), (3, "yes", "stop"), (9, "yes", "stop")]
)
@pytest.mark.parametrize("ignore_end", [False, True])
def test_an_answer_ends_when_it_is_complete(
    max_tokens: int, text: str, reason: FinishReason, ignore_end: bool
) -> None:
    # case 48: the finished constraint is asked for nothing more, and nothing comes behind it
    request = greedy("say", max_tokens, ignore_end=ignore_end)
    for hooks in (None, guesses(*b"yes, of course"), guesses(*b"yes", vocabulary.EOS)):
        [answer] = play(engine_on(hooks=hooks), bound(request, one_of("yes")))[0]
        assert answer.said == (text, tuple(text.encode()), reason, None, len(text))


def test_an_end_token_ends_an_answer_that_may_end_also_where_ends_are_ignored() -> None:
    bias = SamplingParams(logit_bias={vocabulary.EOS: 100})
    request = bound(greedy("say", 9, sampling=bias, ignore_end=True), one_of("yes", "yes, yes"))
    for hooks in (None, guesses(*b"yes", vocabulary.EOS, *b" and more")):
        [answer] = play(engine_on(hooks=hooks), request)[0]
        assert (answer.text, answer.reason, answer.usage.completion) == ("yes", "stop", 4)


def test_a_stop_text_ends_a_constrained_answer_too() -> None:
    [answer] = play(engine_on(), bound(greedy("say", 9, stop=("es",)), one_of("yes")))[0]
    assert (answer.text, answer.reason) == ("y", "stop")


def test_a_forbidden_draft_is_never_taken_for_a_tie() -> None:
    # the noise floor would take any drafted token for as good as the best one
    request = bound(greedy("a number", 12), numbers(12))
    wanted = play(engine_on(), request)[0]
    truth = wanted[0].tokens

    def propose(sequence: Any, limit: int) -> Draft | None:
        said = len(sequence.tokens) - sequence.prompt_length
        rows = np.zeros((2, vocabulary.SIZE), np.float32)
        rows[0, truth[said]] = rows[1, 97] = 1
        # drawn drafts keep their first forbidden token, so that the verifier meets it
        return Draft([truth[said], 97], (1.0, 1.0), rows) if said + 1 < len(truth) else None

    def take_ties(sequence: Any, draft: Draft, logits: Any, chooser: TokenChooser) -> Verdict:
        first = chooser.confirm(logits[0], draft.tokens[0])
        chooser.accept(first)
        return Verdict(1, chooser.confirm(logits[1], draft.tokens[1]))

    hooks = drafting(propose, verify=hook(take_ties))
    got = play(engine_on(hooks=hooks, noise_floor=1e9), request)[0]
    assert got[0].text.isdigit()
    assert got[0].usage.accepted > 0


def test_a_verifier_that_keeps_what_is_forbidden_is_not_heard() -> None:
    def stubborn(sequence: Any, draft: Draft, logits: Any, chooser: TokenChooser) -> Verdict:
        return Verdict(len(draft.tokens), ord("x"))

    request = bound(greedy("a number", 12), numbers(12))
    hooks = drafting(lambda sequence, limit: Draft(b"1"), verify=hook(stubborn))
    assert play(engine_on(hooks=hooks), request)[0].said == play(engine_on(), request)[0].said


def test_a_verifier_sees_the_masked_logits() -> None:
    seen: list[NDArray[np.float32]] = []

    def look(sequence: Any, draft: Draft, logits: NDArray[np.float32], chooser: TokenChooser) -> None:
        seen.append(logits.copy())

    hooks = drafting(lambda sequence, limit: Draft(b"1"), verify=hook(look))
    play(engine_on(hooks=hooks), bound(greedy("a number", 6), numbers(6)))
    assert seen
    for lines in seen:
        possible = np.flatnonzero(np.isfinite(lines[0]))
        assert DIGITS <= set(possible.tolist()) <= DIGITS | ENDS


def test_logprobs_are_those_under_the_mask() -> None:
    request = bound(greedy("a", 9, logprobs=5), one_of("yes", "yen"))
    [answer] = play(engine_on(), request)[0]
    assert answer.tokens[:2] == list(b"ye")
    first, second, third = answer.logprobs
    assert (first.logprob, first.top) == (0, ((ord("y"), 0),))
    assert (second.logprob, second.top) == (0, ((ord("e"), 0),))
    assert {token for token, _ in third.top} == set(b"sn")
    assert np.isclose(np.exp([logprob for _, logprob in third.top]).sum(), 1)


DRAWN = Request(prompt=prompt("dice"), max_tokens=3, sampling=SamplingParams(temperature=1.3))
ROUNDS = 900


def masked_distribution(rule: Callable[[tuple[int, ...]], Collection[int]]) -> NDArray[np.float64]:
    """Of the first token of ``DRAWN``, from the model's own logits."""
    engine = engine_on()
    answers = submit(engine, replace(DRAWN, max_tokens=1))
    engine.step()
    assert answers.group is not None
    line = engine.backend.logits()[-1].astype(np.float64)
    weights = np.zeros(vocabulary.SIZE)
    allowed = list(rule(()))
    weights[allowed] = np.exp(line[allowed] / DRAWN.sampling.temperature)
    return weights / weights.sum()


def drawn_from_q(sequence: Any, limit: int) -> Draft:
    """Two tokens drawn evenly from digits and letters, most of which are forbidden."""
    row = np.zeros((1, vocabulary.SIZE), np.float32)
    pool = sorted(DIGITS | set(b"abcdef"))
    row[0, pool] = 1 / len(pool)
    count = min(2, limit)
    tokens = _random.choice(pool, count).tolist()
    return Draft(tokens, (1 / len(pool),) * count, np.repeat(row, count, axis=0))


_random = np.random.default_rng(4)


@pytest.mark.parametrize(
    "hooks",
    [None, guesses(*b"14"), guesses(*b"9x"), drafting(drawn_from_q)],
    ids=["plain", "allowed draft", "draft that leaves", "drawn draft"],
)
def test_draws_follow_the_masked_distribution(hooks: EngineHooks | None) -> None:
    # case 50, under a constraint
    rule = numbers(3)
    engine = engine_on(FakeBackend(cells=256), hooks, max_draft=2)
    seeds = range(ROUNDS)
    counts = np.zeros(vocabulary.SIZE)
    for seed in seeds:
        sampling = replace(DRAWN.sampling, seed=seed)
        [answer] = play(engine, bound(replace(DRAWN, sampling=sampling), rule))[0]
        counts[answer.tokens[0]] += 1
    assert chi_square(counts, masked_distribution(rule))


def test_choices_have_constraints_of_their_own() -> None:
    made: list[RuleConstraint] = []

    def make(tokens: Sequence[int]) -> RuleConstraint:
        assert tuple(tokens) == prompt("several")
        made.append(RuleConstraint(numbers(6), ENDS))
        return made[-1]

    answers = play(engine_on(), replace(sampled("several", 9, n=4), constraint=make))[0]
    assert len(made) == 4
    assert [bytes(each.accepted).decode() for each in made] == [answer.text for answer in answers]


def test_drafters_see_the_constraint_where_the_answer_is() -> None:
    seen: list[tuple[list[int], list[int]]] = []

    def look(sequence: Any, limit: int) -> None:
        seen.append((list(sequence.constraint.accepted), sequence.tokens[sequence.prompt_length :].tolist()))

    engine = engine_on(hooks=drafting(look))
    play(engine, bound(greedy("a number", 6), numbers(6)))
    assert all(accepted == said for accepted, said in seen)
    assert len(seen) > 3


class Failing(RuleConstraint):
    """Fails in one method after so many tokens."""

    def __init__(self, method: str, after: int) -> None:
        super().__init__(numbers(9), ENDS)
        self.method, self.after = method, after

    def _may_fail(self, method: str) -> None:
        if method == self.method and len(self.accepted) >= self.after:
            raise RuntimeError("the grammar is broken")

    def fill_mask(self, mask: NDArray[np.uint32]) -> None:
        self._may_fail("fill_mask")
        super().fill_mask(mask)

    def accept(self, token: int) -> None:
        self._may_fail("accept")
        super().accept(token)

    def rollback(self, count: int) -> None:
        self._may_fail("rollback")
        super().rollback(count)

    @property
    def complete(self) -> bool:
        self._may_fail("complete")
        return super().complete


@pytest.mark.parametrize("method", ["fill_mask", "accept", "rollback", "complete"])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_failing_constraint_fails_its_request_and_nobody_elses(method: str, after: int) -> None:
    neighbour = sampled("a neighbour", 12)
    wanted = play(engine_on(), neighbour)[0].said
    engine = engine_on(hooks=guesses(*b"12"))
    failing = replace(greedy("broken", 9, ignore_end=True), constraint=lambda _: Failing(method, after))
    failed, other = play(engine, failing, neighbour)
    assert isinstance(failed[0].error, EngineError)
    assert str(failed[0].error) == "the constraint on this answer failed: the grammar is broken"
    assert other.said == wanted
    assert play(engine, bound(greedy("a number", 9), numbers(9)))[0][0].text.isdigit()


def test_a_constraint_that_allows_nothing_fails_the_request() -> None:
    class Nothing(RuleConstraint):
        complete = False

    [answer] = play(engine_on(), replace(greedy("a"), constraint=lambda _: Nothing(lambda said: ())))[0]
    assert "allows no token" in str(answer.error)


def test_a_constraint_that_cannot_be_made_fails_the_request_at_once() -> None:
    def broken(tokens: Sequence[int]) -> RuleConstraint:
        raise ValueError("no such grammar")

    engine = engine_on()
    answers: Answers = submit(engine, replace(sampled("a", n=2), constraint=broken))
    assert answers.done
    assert [str(answer.error) for answer in answers] == [
        "the constraint on this answer failed: no such grammar"
    ] * 2
    assert engine.idle
    run(engine)


def test_one_mask_a_step_without_drafts() -> None:
    made: list[RuleConstraint] = []

    def make(tokens: Sequence[int]) -> RuleConstraint:
        made.append(RuleConstraint(numbers(6), ENDS))
        return made[-1]

    [answer] = play(engine_on(), replace(greedy("a number", 6), constraint=make))[0]
    assert made[0].masks == answer.usage.completion


def test_a_draw_never_falls_on_a_token_without_weight() -> None:
    counts: Counter[str] = Counter()
    for seed in range(200):
        sampling = SamplingParams(temperature=50.0, seed=seed)
        [answer] = play(engine_on(), bound(greedy("x", 1, sampling=sampling), one_of("a", "b", "c")))[0]
        counts[answer.text] += 1
    assert set(counts) == {"a", "b", "c"}
