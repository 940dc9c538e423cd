"""The sampler against a slow, plain reference; its distributions; its random numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reame_core.engine.request import SamplingParams
from reame_core.engine.sampling import Sampler, token_logprob
from tests.engine.support import (
    FakeBackend,
    chi_square,
    engine_on,
    greedy,
    plain,
    play,
    sampled,
    thorough,
    words,
)

Line = NDArray[np.float32]


def adjusted(
    logits: Line, params: SamplingParams, prompt: Iterable[int], generated: Iterable[int]
) -> list[float]:
    """Bias, then penalties, as the fields of ``SamplingParams`` say."""
    values = [float(x) for x in logits]
    for token, bias in params.logit_bias.items():
        values[token] += bias
    said = list(generated)
    window = [*prompt, *said]
    if params.repeat_window:
        for token in set(window[-params.repeat_window :]):
            values[token] = (
                values[token] / params.repeat_penalty
                if values[token] > 0
                else values[token] * params.repeat_penalty
            )
    for token, count in Counter(said).items():
        values[token] -= params.presence_penalty + params.frequency_penalty * count
    return values


def distribution(values: list[float], params: SamplingParams) -> dict[int, float]:
    """Temperature, then top-k, top-p and min-p, one after the other."""
    peak = max(values)
    if params.temperature == 0:
        return {values.index(peak): 1.0}
    weights = {token: math.exp((v - peak) / params.temperature) for token, v in enumerate(values)}
    ranked = sorted(weights, key=lambda token: (-weights[token], token))
    if params.top_k:
        ranked = ranked[: params.top_k]
    total = sum(weights[t] for t in ranked)
    kept, mass = [], 0.0
    for token in ranked:
        kept.append(token)
        mass += weights[token]
        if mass >= params.top_p * total:
            break
    kept = [t for t in kept if weights[t] >= params.min_p]
    total = sum(weights[t] for t in kept)
    return {t: weights[t] / total for t in kept}


def on_an_edge(values: list[float], params: SamplingParams) -> bool:
    """Whether rounding may decide which tokens are kept."""
    near = 1e-4
    ordered = sorted(values, reverse=True)
    if any(a - b < near for a, b in pairwise(ordered)):
        return True
    weights = [math.exp((v - ordered[0]) / params.temperature) for v in ordered]
    if any(abs(w - params.min_p) < near * params.min_p for w in weights):
        return True
    top = weights[: params.top_k or None]
    sums = np.cumsum(top) / sum(top)
    return bool((np.abs(sums - params.top_p) < 1e-5).any())


logit = st.integers(-2000, 2000).map(lambda x: x / 100)
lines = st.lists(logit, min_size=2, max_size=40).map(lambda x: np.array(x, np.float32))
fractions = st.integers(1, 100).map(lambda x: x / 100)


@st.composite
def cases(draw: st.DrawFn, *, greedy: bool = False) -> tuple[Line, SamplingParams, list[int], list[int]]:
    line = draw(lines)
    token = st.integers(0, len(line) - 1)
    plain = draw(st.booleans())
    params = SamplingParams(
        logit_bias={} if plain else draw(st.dictionaries(token, st.integers(-100, 100), max_size=3)),
        repeat_penalty=1.0 if plain else draw(st.sampled_from([1.0, 1.3, 0.7, 2.0])),
        repeat_window=draw(st.sampled_from([0, 1, 3, 64])),
        presence_penalty=0.0 if plain else draw(st.sampled_from([0.0, 0.5, -1.0, 2.0])),
        frequency_penalty=0.0 if plain else draw(st.sampled_from([0.0, 0.25, -0.5])),
        temperature=0.0 if greedy else draw(st.sampled_from([0.01, 0.3, 0.8, 1.0, 1.7, 100.0])),
        top_k=draw(st.sampled_from([0, 1, 2, 5, 39, 1000])),
        top_p=draw(st.one_of(st.just(1.0), fractions)),
        min_p=draw(st.one_of(st.just(0.0), fractions)),
    )
    return line, params, draw(st.lists(token, max_size=6)), draw(st.lists(token, max_size=6))


def sampler_after(params: SamplingParams, prompt: list[int], generated: list[int]) -> Sampler:
    sampler = Sampler(params, prompt)
    for token in generated:
        sampler.accept(token)
    return sampler


@thorough(200)
@given(cases())
def test_probabilities_equal_the_reference(case: tuple[Line, SamplingParams, list[int], list[int]]) -> None:
    line, params, prompt, generated = case
    values = adjusted(line, params, prompt, generated)
    assume(not on_an_edge(values, params))
    before = line.copy()
    found = sampler_after(params, prompt, generated).probabilities(line)
    wanted = distribution(values, params)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(line, before)
    assert set(np.flatnonzero(found)) <= set(wanted)
    for token, share in wanted.items():
        assert found[token] == pytest.approx(share, abs=2e-4)
    assert found.sum() == pytest.approx(1, abs=1e-5)


@thorough(150)
@given(cases(), st.integers(0, 99))
def test_choose_inverts_the_distribution_at_one_random_number(
    case: tuple[Line, SamplingParams, list[int], list[int]], seed: int
) -> None:
    line, params, prompt, generated = case
    params = replace(params, seed=seed)
    share = sampler_after(params, prompt, generated).probabilities(line)
    number = sampler_after(params, prompt, generated).uniform()
    chosen = sampler_after(params, prompt, generated).choose(line)
    assert share[chosen] > 0
    if params.top_p == 1 and params.min_p == 0 and not 0 < params.top_k < len(line):
        order = np.arange(len(line))
    else:
        order = np.lexsort((np.arange(len(line)), -share))
    cumulative = np.cumsum(share[order].astype(np.float64))
    place = int(np.flatnonzero(order == chosen)[0])
    below = cumulative[place - 1] if place else 0.0
    assert below - 1e-4 <= number * cumulative[-1] <= cumulative[place] + 1e-4


@thorough(150)
@given(cases(greedy=True))
def test_greedy_is_the_best_token_after_bias_and_penalties(
    case: tuple[Line, SamplingParams, list[int], list[int]],
) -> None:
    line, params, prompt, generated = case
    values = adjusted(line, params, prompt, generated)
    sampler = sampler_after(params, prompt, generated)
    chosen = sampler.choose(line)
    assert values[chosen] == pytest.approx(max(values), abs=1e-4)
    assert sampler.probabilities(line)[chosen] == 1
    assert sampler.probabilities(line).sum() == 1


@thorough(300)
@given(lines)
def test_plain_greedy_equals_the_way_with_adjustments(line: Line) -> None:
    fast = SamplingParams()
    slow = SamplingParams(logit_bias={0: 0.0}, frequency_penalty=0.0)
    assert fast.plain_greedy
    assert not slow.plain_greedy
    assert Sampler(fast, []).choose(line) == Sampler(slow, []).choose(line)
    assert SamplingParams(repeat_penalty=1.0, repeat_window=9, top_k=3, min_p=0.5).plain_greedy


def test_ties_go_to_the_first_token() -> None:
    line = np.array([1, 3, 3, 2], np.float32)
    assert Sampler(SamplingParams(), []).choose(line) == 1
    assert Sampler(SamplingParams(logit_bias={3: 1.0}), []).choose(line) == 1


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=1.0, seed=1),
        SamplingParams(temperature=0.6, seed=2),
        SamplingParams(temperature=1.5, top_k=5, seed=3),
        SamplingParams(temperature=1.0, top_p=0.7, seed=4),
        SamplingParams(temperature=1.0, min_p=0.1, seed=5),
        SamplingParams(temperature=1.0, top_k=8, top_p=0.9, min_p=0.05, seed=6),
        SamplingParams(temperature=0.9, logit_bias={3: 2.0}, repeat_penalty=1.4, seed=7),
    ],
)
def test_draws_follow_the_distribution(params: SamplingParams) -> None:
    line = np.random.default_rng(5).normal(0, 1.5, 20).astype(np.float32)
    sampler = Sampler(params, [1, 2, 3])
    counts = np.zeros(20)
    for _ in range(6000):
        counts[sampler.choose(line)] += 1
    wanted = np.zeros(20)
    for token, share in distribution(adjusted(line, params, [1, 2, 3], []), params).items():
        wanted[token] = share
    assert chi_square(counts, wanted)


def test_the_chi_square_test_notices_a_wrong_distribution() -> None:
    rng = np.random.default_rng(1)
    share = np.array([0.6, 0.3, 0.1])
    assert chi_square(np.bincount(rng.choice(3, 2000, p=share), minlength=3), share)
    assert not chi_square(np.bincount(rng.choice(3, 2000, p=[0.68, 0.25, 0.07]), minlength=3), share)


def test_penalties_and_bias_are_exact() -> None:
    line = np.array([2.0, -2.0, 1.0, 0.5, 4.0], np.float32)
    params = SamplingParams(
        logit_bias={0: -1.0, 4: 0.25},
        repeat_penalty=2.0,
        repeat_window=3,
        presence_penalty=0.5,
        frequency_penalty=0.25,
        temperature=1.0,
    )
    sampler = sampler_after(params, [4, 1], [2, 2])
    # Bias first; the last three tokens 1, 2, 2 are repeated; 2 was generated twice.
    wanted = np.array([1.0, -4.0, 0.5 - 0.5 - 0.5, 0.5, 4.25], np.float64)
    share = np.exp(wanted - 4.25) / np.exp(wanted - 4.25).sum()
    np.testing.assert_allclose(sampler.probabilities(line), share, atol=1e-6)


def test_penalties_count_generated_tokens_only_and_repetition_the_prompt_too() -> None:
    line = np.array([1.0, 1.1], np.float32)
    assert Sampler(SamplingParams(presence_penalty=2), [1, 1, 1]).choose(line) == 1
    assert Sampler(SamplingParams(repeat_penalty=2), [1]).choose(line) == 0
    assert Sampler(SamplingParams(repeat_penalty=2, repeat_window=1), [1, 0]).choose(line) == 1
    assert Sampler(SamplingParams(repeat_penalty=2, repeat_window=0), [1]).choose(line) == 1


@pytest.mark.parametrize("penalty", [5e-324, 1e-40, 1e-7, 1e-3])
def test_tiny_repeat_penalties_stay_finite(penalty: float) -> None:
    logits = np.array([3.0, -2.0, 100.0, -1e4], np.float32)
    sampler = Sampler(SamplingParams(temperature=1, repeat_penalty=penalty, seed=1), [0, 1, 2, 3])
    assert sampler.choose(logits) == 2
    assert np.isfinite(sampler.probabilities(logits)).all()


@pytest.mark.parametrize("temperature", [1e-3, 1e-7, 1e-38, 1e-50, 5e-324])
@pytest.mark.parametrize("scale", [1, 1e4])
def test_tiny_temperatures_are_greedy(temperature: float, scale: float) -> None:
    line = np.array([0.0, 3.0, 1.0, 2.9, -9.0], np.float32) * np.float32(scale)
    for extra in ({}, {"top_k": 3}, {"top_p": 0.9}, {"min_p": 0.1}):
        params = SamplingParams(temperature=temperature, seed=1, **extra)
        sampler = Sampler(params, [])
        assert [sampler.choose(line) for _ in range(20)] == [1] * 20
        assert sampler.probabilities(line)[1] == pytest.approx(1)


def test_top_k_1_is_greedy_at_any_temperature() -> None:
    line = np.random.default_rng(3).normal(size=50).astype(np.float32)
    sampler = Sampler(SamplingParams(temperature=100, top_k=1), [])
    assert {sampler.choose(line) for _ in range(50)} == {int(line.argmax())}


# Log-probabilities.


@thorough(150)
@given(lines, st.integers(0, 10), st.data())
def test_logprobs_equal_the_reference(line: Line, alternatives: int, data: st.DataObject) -> None:
    alternatives = min(alternatives, len(line))
    token = data.draw(st.integers(0, len(line) - 1))
    found = token_logprob(line, token, alternatives)
    values = line.astype(np.float64)
    wanted = values - values.max() - math.log(np.exp(values - values.max()).sum())
    assert found.token == token
    assert found.logprob == pytest.approx(wanted[token], abs=1e-4)
    assert found.logprob <= 0
    best = sorted(range(len(line)), key=lambda t: (-line[t], t))[:alternatives]
    assert [p for _, p in found.top] == pytest.approx([wanted[t] for t in best], abs=1e-4)
    assert sorted((p for _, p in found.top), reverse=True) == [p for _, p in found.top]
    assert all(p <= 0 for _, p in found.top)
    assert len({t for t, _ in found.top}) == alternatives


def test_a_certain_token_has_logprob_0_and_not_more() -> None:
    line = np.full(300_000, -60, np.float32)
    line[7] = 30
    assert token_logprob(line, 7, 2).logprob == 0


@pytest.mark.parametrize("alternatives", [None, 0, 1, 5, 20])
def test_logprobs_of_an_answer(alternatives: int | None) -> None:
    request = greedy("tell me", 8, logprobs=alternatives)
    [answer] = play(engine_on(), request)[0]
    if alternatives is None:
        assert answer.logprobs == []
        return
    assert [p.token for p in answer.logprobs] == answer.tokens
    assert all(len(p.top) == alternatives for p in answer.logprobs)
    assert all(-100 < p.logprob <= 0 for p in answer.logprobs)
    if alternatives:
        assert [p.top[0] for p in answer.logprobs] == [(p.token, p.logprob) for p in answer.logprobs]


def test_logprobs_are_those_of_the_model_before_bias_and_temperature() -> None:
    quiet = SamplingParams(temperature=0.5, seed=3)
    [answer] = play(engine_on(), greedy("tell me", 6, sampling=quiet, logprobs=1))[0]
    biased = SamplingParams(logit_bias=dict.fromkeys(answer.tokens[:1], 100.0))
    [other] = play(engine_on(), greedy("tell me", 1, sampling=biased, logprobs=1))[0]
    assert other.tokens == answer.tokens[:1]
    assert other.logprobs[0] == answer.logprobs[0]


# Seeds.


def test_the_same_seed_gives_the_same_answer_and_another_seed_another() -> None:
    # case 77
    engine = engine_on()
    same = [play(engine, sampled("tell me", 20, seed=42))[0].said for _ in range(2)]
    assert same[0] == same[1] == plain(sampled("tell me", 20, seed=42))
    others = {str(plain(sampled("tell me", 20, seed=seed))) for seed in (0, 1, 42, -1, 2**63)}
    assert len(others) == 5


def test_unseeded_answers_differ_also_at_the_same_time() -> None:
    # case 77
    engine = engine_on(parallel=5)
    asked = sampled("tell me", 20, seed=None, ignore_end=True)
    texts = [a[0].text for a in play(engine, *[asked] * 5)]
    texts += [play(engine, asked)[0][0].text for _ in range(5)]
    assert len(set(texts)) == 10


def test_a_seed_is_not_disturbed_by_unseeded_neighbours() -> None:
    # case 77
    alone = plain(sampled("tell me", 20, seed=42))
    engine = engine_on(FakeBackend(cells=1024), parallel=8)
    crowd = [sampled("tell me" if i % 2 else f"other {i}", 20, seed=None) for i in range(7)]
    for place in (0, 3, 7):
        requests = [*crowd[:place], sampled("tell me", 20, seed=42), *crowd[place:]]
        assert play(engine, *requests)[place].said == alone


def test_choices_of_one_request_differ_and_repeat_with_its_seed() -> None:
    # cases 109, 110
    request = sampled("tell me", 20, seed=7, n=5)
    first, second = plain(request), plain(request)
    assert first == second
    assert len({str(said) for said in first}) == 5
    assert play(engine_on(parallel=3), request)[0].said == first
    assert plain(sampled("tell me", 20, seed=7))[0] == first[0]


def test_a_sampled_stream_of_tokens_follows_the_models_distribution() -> None:
    backend = FakeBackend()
    spread: Counter[int] = Counter()
    engine = engine_on(backend, parallel=8)
    for seed in range(6):
        params = SamplingParams(temperature=0.4, top_k=6, seed=seed)
        for answer in play(engine, greedy(words(20), 1, n=100, ignore_end=True, sampling=params))[0]:
            spread.update(answer.tokens)
    [shown] = play(engine, greedy(words(20), 1, logprobs=20))[0]
    top = dict(shown.logprobs[0].top[:6])
    share = {t: math.exp(p / 0.4) for t, p in top.items()}
    counts = np.array([spread[t] for t in share], np.float64)
    assert counts.sum() == 600
    assert chi_square(counts, np.array(list(share.values())))
