"""Sampled answers have the distribution they would have without drafts, whoever drafts (Leviathan et al. 2023,
Chen et al. 2023): 20,000 next tokens and pairs of tokens by chi-square, and rules that are nearly right fail.

The target's logits are those of the fake backend after a fixed prompt, for its most frequent letters alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reame_core.engine.backend import Rows
from reame_core.engine.calibration import measure_batches
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import SamplingParams
from reame_core.engine.sampling import Sampler
from reame_core.engine.verification import verify_draft
from reame_core.plugins.api import Draft, DraftPrice, Verdict
from reame_core.testing import FakeBackend, FakeClock
from reame_core.testing import fake_vocabulary as vocabulary
from tests.engine.support import chi_square, engine_on, greedy, hook, play, repeat_draws, words

DRAWS = 20_000
ENGINE_DRAWS = 2_000
LETTERS = np.arange(97, 109)
SIZE = len(LETTERS)
PROMPT = words(20)

Lines = NDArray[np.float32]
Rng = np.random.Generator

SETTINGS = {
    "temperature 1": SamplingParams(temperature=1.0),
    "temperature 0.6, top_p 0.9": SamplingParams(temperature=0.6, top_p=0.9),
    "temperature 1.5, top_p 0.7, top_k 8": SamplingParams(temperature=1.5, top_p=0.7, top_k=8),
}


@cache
def lines() -> tuple[Lines, Lines]:
    """(letters,) logits after the prompt, (letters, letters) after the prompt and each letter."""
    backend = FakeBackend()

    def compute(position: int, tokens: list[int]) -> Lines:
        rows = Rows()
        rows.add(0, position, tokens, logits_from=len(tokens) - 1)
        backend.decode(rows)
        return backend.logits()[0, LETTERS].copy()

    first = compute(0, list(PROMPT))
    second = []
    for letter in LETTERS.tolist():
        second.append(compute(len(PROMPT), [letter]))
        backend.truncate(0, len(PROMPT))
    return first, np.array(second)


def shares(params: SamplingParams) -> tuple[Lines, Lines]:
    """The probabilities of both tokens, by the request's sampler."""
    first, second = lines()
    sampler = Sampler(params, ())
    return sampler.probabilities(first), np.array([sampler.probabilities(line) for line in second])


def softened(line: Lines, share: Lines) -> Lines:
    """What a smaller model may think: half as sure."""
    weights = np.exp(0.5 * line) * (share > 0)
    return (weights / weights.sum()).astype(np.float32)


def even(line: Lines, share: Lines) -> Lines:
    return np.full(SIZE, 1 / SIZE, np.float32)


def contrary(line: Lines, share: Lines) -> Lines:
    """Mostly the rarest token that is possible, and a little of everything."""
    weights = np.full(SIZE, 0.01, np.float32)
    weights[np.where(share > 0, share, 9).argmin()] = 1
    return weights / weights.sum()


@dataclass(frozen=True)
class Drafter:
    """Two tokens by q(line, share of the target), drawn, or (``looked_up``) the best of q for certain."""

    q: Callable[[Lines, Lines], Lines]
    looked_up: bool = False

    def rows(self, shares: tuple[Lines, Lines]) -> Lines:
        """(1 + letters, letters) q after the prompt, and after each letter."""
        first, second = lines()
        after = [self.q(line, share) for line, share in zip(second, shares[1], strict=True)]
        return np.array([self.q(first, shares[0]), *after])

    def drafts(self, shares: tuple[Lines, Lines], rng: Rng, count: int) -> Iterator[Draft]:
        rows = self.rows(shares)
        if self.looked_up:
            best = int(rows[0].argmax())
            yield from itertools.repeat(Draft([best, int(rows[1 + best].argmax())]), count)
            return
        totals = rows.cumsum(axis=1, dtype=np.float64)
        for first, second in rng.random((count, 2)):
            token = _place(totals[0], first)
            yield Draft([token, _place(totals[1 + token], second)], None, rows[[0, 1 + token]])


def _place(totals: NDArray[np.float64], share: float) -> int:
    return int(totals.searchsorted(share * totals[-1], side="right"))


DRAFTERS = {
    "good, looked up": Drafter(softened, looked_up=True),
    "bad, looked up": Drafter(contrary, looked_up=True),
    "good, drawn": Drafter(softened),
    "uninformed, drawn": Drafter(even),
    "adversarial, drawn": Drafter(contrary),
}

Verify = Callable[[Draft, Lines, Sampler], Verdict]


def pairs(params: SamplingParams, drafter: Drafter, verify: Verify, draws: int) -> NDArray[np.int64]:
    """(letters, letters) how often each pair of tokens was said."""
    first, second = lines()
    rng = np.random.default_rng(5)
    sampler = Sampler(replace(params, seed=11), ())
    counts = np.zeros((SIZE, SIZE), np.int64)
    # By the first drafted token: the third line is never looked at.
    logits = [np.array([first, line, first]) for line in second]
    for draft in drafter.drafts(shares(params), rng, draws):
        verdict = verify(draft, logits[draft.tokens[0]], sampler)
        said = [*draft.tokens[: verdict.accepted], verdict.next_token]
        if len(said) == 1:
            said.append(sampler.choose(second[said[0]]))
        counts[said[0], said[1]] += 1
    return counts


def agrees(counts: NDArray[np.int64], params: SamplingParams) -> bool:
    """Whether first tokens and pairs may have come from the target itself."""
    first, second = shares(params)
    wanted = first.astype(np.float64)[:, None] * second
    return chi_square(counts.sum(axis=1), first) and chi_square(counts.ravel(), wanted.ravel())


CASES = [
    pytest.param(params, drafter, id=f"{setting}: {name}")
    for setting, params in SETTINGS.items()
    for name, drafter in DRAFTERS.items()
    if setting == "temperature 1" or name != "uninformed, drawn"
]


@pytest.mark.parametrize(("params", "drafter"), CASES)
def test_case_50_20000_draws_have_the_targets_distribution(params: SamplingParams, drafter: Drafter) -> None:
    assert agrees(pairs(params, drafter, verify_draft, DRAWS), params)


# Rules that are nearly right.


def believes_what_is_likely(draft: Draft, logits: Lines, sampler: Sampler) -> Verdict:
    """Typical acceptance: a token that is not improbable is kept."""
    for index, drafted in enumerate(draft.tokens):
        share = sampler.probabilities(logits[index])
        if share[drafted] < 0.1:
            return Verdict(index, sampler.draw(share))
    return Verdict(len(draft.tokens), sampler.choose(logits[-1]))


def draws_again_from_the_target(draft: Draft, logits: Lines, sampler: Sampler) -> Verdict:
    """A rejected token is drawn from p instead of the residual."""
    assert draft.distributions is not None
    for index, drafted in enumerate(draft.tokens):
        share = sampler.probabilities(logits[index])
        if sampler.uniform() * draft.distributions[index][drafted] >= share[drafted]:
            return Verdict(index, sampler.draw(share))
    return Verdict(len(draft.tokens), sampler.choose(logits[-1]))


def takes_a_draw_for_certain(draft: Draft, logits: Lines, sampler: Sampler) -> Verdict:
    """A drawn draft is accepted with p, as if it had been looked up, and rejected by the residual."""
    assert draft.distributions is not None
    for index, drafted in enumerate(draft.tokens):
        share = sampler.probabilities(logits[index])
        if sampler.uniform() >= share[drafted]:
            residual = np.maximum(share - draft.distributions[index], 0)
            return Verdict(index, sampler.draw(residual if residual.any() else share))
    return Verdict(len(draft.tokens), sampler.choose(logits[-1]))


def knows_the_first_token_alone(draft: Draft, logits: Lines, sampler: Sampler) -> Verdict:
    """The second drafted token is judged by the line of the first."""
    wrong = np.array([logits[0], logits[0], logits[2]])
    return verify_draft(draft, wrong, sampler)


@pytest.mark.parametrize(
    "rule",
    [
        believes_what_is_likely,
        draws_again_from_the_target,
        takes_a_draw_for_certain,
        knows_the_first_token_alone,
    ],
)
def test_a_wrong_rule_fails_the_same_test(rule: Verify) -> None:
    params = SETTINGS["temperature 1"]
    assert not agrees(pairs(params, DRAFTERS["good, drawn"], rule, DRAWS // 2), params)


def dropping(keeps: Callable[[Draft], bool]) -> Verify:
    """The right rule, for a source that shows its drafts only where it likes them."""

    def verify(draft: Draft, logits: Lines, sampler: Sampler) -> Verdict:
        return verify_draft(draft, logits, sampler) if keeps(draft) else Verdict(0, sampler.choose(logits[0]))

    return verify


def test_a_source_that_drops_draws_fails_the_same_test() -> None:
    params = SETTINGS["temperature 1"]
    likely = shares(params)[0].argsort()[-4:].tolist()
    verify = dropping(lambda draft: draft.tokens[0] in likely)
    assert not agrees(pairs(params, DRAFTERS["good, drawn"], verify, DRAWS // 2), params)


# In an engine, whose controller decides about drafts.


class Few(FakeBackend):
    """Says nothing but the letters."""

    def _line(self, cell: int, attended: Any) -> Any:
        line = super()._line(cell, attended)
        kept = np.full(len(line), -np.inf, np.float32)
        kept[LETTERS] = line[LETTERS]
        return kept


class Guesser:
    """Draws what a smaller model might, for sequences of ``PROMPT``, and stops before it is unsure."""

    def __init__(self, params: SamplingParams) -> None:
        self.rng = np.random.default_rng(8)
        self.rows = DRAFTERS["good, drawn"].rows(shares(params))
        self.totals = self.rows.cumsum(axis=1, dtype=np.float64)
        self.drafted = 0

    def propose(self, sequence: Any, limit: int) -> Draft | None:
        said = sequence.tokens[len(PROMPT) :].tolist()
        if len(said) > 1:
            return None
        context = said[0] - int(LETTERS[0]) + 1 if said else 0
        tokens: list[int] = []
        contexts = []
        while len(said) + len(tokens) < 2 and len(tokens) < limit:
            if tokens and self.rows[context].max() < 0.2:
                break
            contexts.append(context)
            tokens.append(_place(self.totals[context], self.rng.random()))
            context = 1 + tokens[-1]
        self.drafted += len(tokens)
        wide = np.zeros((len(tokens), vocabulary.SIZE), np.float32)
        wide[:, LETTERS] = self.rows[contexts]
        return Draft([int(LETTERS[token]) for token in tokens], None, wide)

    def hooks(self, kind: str) -> EngineHooks:
        if kind == "proposed":
            return EngineHooks(propose_draft=hook(self.propose))
        return EngineHooks(
            price_drafts=hook(lambda wishes: DraftPrice(1e-3)),
            compute_drafts=hook(lambda wishes: [self.propose(wish.sequence, wish.limit) for wish in wishes]),
        )


@pytest.mark.parametrize("kind", ["proposed", "computed"])
def test_case_50_an_engine_whose_controller_decides_about_drawn_drafts(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeat_draws(monkeypatch)
    params = SETTINGS["temperature 1"]
    guesser = Guesser(params)
    clock = FakeClock(lambda rows: 50.0 + rows)
    backend = Few(cells=256, max_sequences=12, max_rows=64, clock=clock)
    engine = engine_on(backend, guesser.hooks(kind), clock, parallel=8, price_drafts=True)
    measure_batches(backend, engine.cost, clock)
    counts = np.zeros((SIZE, SIZE), np.int64)
    for _ in range(ENGINE_DRAWS // 128):
        for answer in play(engine, greedy(PROMPT, 3, n=128, sampling=params, ignore_end=True))[0]:
            first, second, _ = np.array(answer.tokens) - LETTERS[0]
            counts[first, second] += 1
    assert guesser.drafted > counts.sum() / 4
    assert agrees(counts, params)
