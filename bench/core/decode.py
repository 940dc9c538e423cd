"""Generating greedy tokens one by one: the engine's step loop against a bare loop of ``llama_decode`` and
numpy's argmax on the same context, and against the same loop without looking at the logits."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import pairwise

from bench.bare import BareLoop
from bench.case import Case
from bench.report import Figure, Result, Target
from bench.requests import alone
from bench.rounds import percentile, ratios, rounds

PROMPT, TOKENS = 128, 64
ENGINE, BARE, ALONE = "engine", "bare loop", "llama_decode alone"


def measure(case: Case, result: Result) -> None:
    tokens = case.size(TOKENS)
    prompt = case.prompt(PROMPT)
    bare = BareLoop(case.backend)
    chosen: dict[str, list[int]] = {}

    def engine() -> list[float]:
        watched = alone(case.engine(), prompt, tokens + 1)
        chosen[ENGINE] = watched.tokens
        return watched.gaps

    def bare_loop() -> list[float]:
        first = _prefill(case, bare, prompt)
        rest, seconds = _clocked(bare.greedy(first, len(prompt), tokens))
        chosen[BARE] = [first, *rest]
        return seconds

    def decode_alone() -> list[float]:
        _prefill(case, bare, prompt)
        return _clocked(bare.replay(chosen[BARE][:tokens], len(prompt)))[1]

    bare_loop()  # reads the weights in, and makes the tokens to replay
    contestants = {BARE: bare_loop, ENGINE: engine, ALONE: decode_alone}
    seconds = rounds(case.rounds, contestants, case.quiet)
    bare.close()
    mean = {name: [sum(gaps) / len(gaps) for gaps in seconds[name]] for name in contestants}
    best = {name: percentile([gap for gaps in seconds[name] for gap in gaps], 10) for name in contestants}
    target = Target("≥", 0.93 if case.small else 0.97)
    result.figures += [
        Figure.of("engine / bare loop, speed", ratios(mean[BARE], mean[ENGINE]), target=target),
        Figure("the same, fastest tenth of the tokens", best[BARE] / best[ENGINE]),
        Figure.of("engine / llama_decode alone, speed", ratios(mean[ALONE], mean[ENGINE])),
        *(Figure.of(name, [1000 * s for s in mean[name]], "ms a token") for name in contestants),
    ]
    same = "the same tokens" if chosen[ENGINE] == chosen[BARE] else "NOT the same tokens"
    result.notes.append(f"{tokens} tokens behind a prompt of {PROMPT}; engine and bare loop chose {same}")


def _prefill(case: Case, bare: BareLoop, prompt: tuple[int, ...]) -> int:
    """Compute ``prompt`` into an empty memory; the token after it."""
    case.backend.clear()
    bare.decode(prompt, 0)
    return int(bare.logits().argmax())


def _clocked(tokens: Iterable[int]) -> tuple[list[int], list[float]]:
    """All ``tokens``, and the seconds each took."""
    came, times = [], [time.perf_counter()]
    for token in tokens:
        came.append(token)
        times.append(time.perf_counter())
    return came, [after - before for before, after in pairwise(times)]
