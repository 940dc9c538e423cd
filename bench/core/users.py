"""Several users at once: k requests interleaved by the engine against the same requests one after another, and
against what the bare cost t(k) of a batch of k rows allows, k·t(1)/t(k)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bench.bare import BareLoop
from bench.case import Case
from bench.report import Figure, Result, Target
from bench.requests import Watched, alone, run
from bench.rounds import median, ratios, rounds

USERS = (2, 3, 4)
PROMPT, TOKENS = 32, 48

Prompts = list[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _Times:
    """Seconds. ``whole[k]``: from the first submission to the last token of k requests, prompts included;
    ``step``: decoding, for one token of every user."""

    whole: dict[int, float]
    step: float


def measure(case: Case, result: Result) -> None:
    tokens = case.size(TOKENS)
    prompts = [case.prompt(PROMPT) for _ in range(max(USERS))]
    bare = BareLoop(case.backend)
    _batch_cost(bare, case, prompts, 4)  # reads the weights in
    engine: dict[str, Callable[[], _Times]] = {"1": partial(_one_after_another, case, prompts, tokens)}
    costs: dict[str, Callable[[], float]] = {"t1": partial(_batch_cost, bare, case, prompts[:1], tokens)}
    for users in USERS:
        engine[str(users)] = partial(_interleaved, case, prompts[:users], tokens)
        costs[f"t{users}"] = partial(_batch_cost, bare, case, prompts[:users], tokens)
    # Costs and engine take turns in one order, so that a share compares neighbours in time.
    answers = rounds(case.rounds, {**engine, **costs}, case.quiet)
    bare.close()
    times = {int(name): [a for a in answers[name] if isinstance(a, _Times)] for name in engine}
    cost = {int(name[1:]): [a for a in answers[name] if isinstance(a, float)] for name in costs}
    for users in USERS:
        result.figures += _compare(users, times[1], times[users], cost[1], cost[users], case.large)
    result.figures += [Figure.of(f"t({users})", [1000 * s for s in cost[users]], "ms") for users in cost]
    result.notes.append(f"prompts of {PROMPT} tokens, answers of {tokens}; whole requests include the prompts")


def _compare(
    users: int, one: list[_Times], many: list[_Times], t1: list[float], tk: list[float], large: bool
) -> list[Figure]:
    whole = ratios([times.whole[users] for times in one], [times.whole[users] for times in many])
    gain = [users * ratio for ratio in ratios([t.step for t in one], [t.step for t in many])]
    ideal = [users * ratio for ratio in ratios(t1, tk)]
    wanted = Target("≥", 1.6) if users == 3 and large else None
    return [
        Figure.of(f"{users} users, whole requests: interleaved / one by one", whole, target=wanted),
        Figure.of(f"{users} users, decoding: interleaved / one by one", gain),
        Figure.of(f"{users} users, allowed by t(1) and t({users})", ideal),
        Figure.of(f"{users} users, share of that", ratios(gain, ideal), target=Target("≥", 0.95)),
        Figure.of(f"{users} users, t({users}) / step of the engine", ratios(tk, [t.step for t in many])),
    ]


def _one_after_another(case: Case, prompts: Prompts, tokens: int) -> _Times:
    engine = case.experienced_engine()
    whole = {0: 0.0}
    steps = []
    for number, prompt in enumerate(prompts, 1):
        watched = alone(engine, prompt, tokens)
        whole[number] = whole[number - 1] + watched.token_times[-1] - watched.submitted
        steps.append(watched.per_token)
    return _Times(whole, median(steps))


def _interleaved(case: Case, prompts: Prompts, tokens: int) -> _Times:
    engine = case.experienced_engine()
    watched = [Watched(engine, prompt, tokens) for prompt in prompts]
    whole = run(engine, watched)
    all_decoding = max(w.token_times[0] for w in watched)
    first_end = min(w.token_times[-1] for w in watched)
    steps = sum(all_decoding < t <= first_end for t in watched[0].token_times)
    return _Times({len(prompts): whole}, (first_end - all_decoding) / steps)


def _batch_cost(bare: BareLoop, case: Case, prompts: Prompts, tokens: int) -> float:
    """Seconds of one bare batch with a row for each prompt's sequence."""
    case.backend.clear()
    for sequence, prompt in enumerate(prompts):
        bare.decode(prompt, 0, sequence)
    newest = [prompt[1] for prompt in prompts]
    started = time.perf_counter()
    for position in range(PROMPT, PROMPT + tokens):
        bare.decode_users(newest, position)
    return (time.perf_counter() - started) / tokens
