"""Generating greedy tokens one by one: the engine's step loop against a bare loop of ``llama_decode`` and
numpy's argmax on the same context, and against the same loop without looking at the logits."""

from __future__ import annotations

import time

from bench.bare import BareLoop
from bench.case import Case
from bench.report import Figure, Result, Target
from bench.requests import alone
from bench.rounds import ratios, rounds

PROMPT, TOKENS = 128, 64


def measure(case: Case, result: Result) -> None:
    tokens = case.size(TOKENS)
    prompt = case.prompt(PROMPT)
    bare = BareLoop(case.backend)
    chosen: dict[str, list[int]] = {}

    def engine() -> float:
        watched = alone(case.engine(), prompt, tokens + 1)
        chosen["engine"] = watched.tokens
        return watched.per_token

    def bare_argmax() -> float:
        case.backend.clear()
        bare.prefill(prompt, [len(prompt)])
        first = int(bare.logits().argmax())
        started = time.perf_counter()
        rest = bare.greedy(first, len(prompt), tokens)
        seconds = time.perf_counter() - started
        chosen["bare"] = [first, *rest]
        return seconds / tokens

    def bare_only() -> float:
        case.backend.clear()
        bare.prefill(prompt, [len(prompt)])
        started = time.perf_counter()
        bare.replay(chosen["bare"][:tokens], len(prompt))
        return (time.perf_counter() - started) / tokens

    bare_argmax()  # reads the weights in, and makes the tokens to replay
    contestants = {"bare": bare_argmax, "engine": engine, "decode only": bare_only}
    seconds = rounds(case.rounds, contestants, case.quiet)
    bare.close()
    target = Target("≥", 0.93 if case.small else 0.97)
    result.figures += [
        Figure.of("engine / bare loop, speed", ratios(seconds["bare"], seconds["engine"]), target=target),
        Figure.of("engine / llama_decode alone, speed", ratios(seconds["decode only"], seconds["engine"])),
        Figure.of("engine", [1000 * s for s in seconds["engine"]], "ms a token"),
        Figure.of("bare loop", [1000 * s for s in seconds["bare"]], "ms a token"),
        Figure.of("llama_decode alone", [1000 * s for s in seconds["decode only"]], "ms a token"),
    ]
    same = "the same tokens" if chosen["engine"] == chosen["bare"] else "NOT the same tokens"
    result.notes.append(f"{tokens} tokens behind a prompt of {PROMPT}; engine and bare loop chose {same}")
