"""Where the weights are kept: plain, and as chosen by ``engine.extra_buffers = auto``, and llama-server with
its defaults (``--llama-server``). Cold requests of 512 prompt tokens and 64 generated ones, each contestant
a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from bench.case import Case
from bench.llama_server import LlamaServer
from bench.report import Figure, Result, Target
from bench.rounds import ratios, rounds
from bench.worker import Worker
from reame_core.llama.model import WeightBuffers

PROMPT, TOKENS, CELLS = 512, 64, 4096
PLAIN, CHOSEN, SERVER = "plain", "chosen", "llama-server"

Speeds = tuple[float, float]
"""Prompt tokens a second, generated tokens a second."""


def measure(case: Case, result: Result) -> None:
    prompt, tokens = case.size(PROMPT), case.size(TOKENS)
    chosen = case.fastest_buffers
    with ExitStack() as stack:

        def reame(buffers: WeightBuffers) -> Callable[[], Speeds]:
            worker = stack.enter_context(Worker(case.path, case.threads, buffers, cells=CELLS))

            def once() -> Speeds:
                timing = worker.request(prompt, tokens)
                return prompt / timing.prefill, timing.rate

            return once

        contestants = {PLAIN: reame(WeightBuffers())}
        if chosen != WeightBuffers():
            contestants[CHOSEN] = reame(chosen)
        if (binary := case.conditions.llama_server) is not None:
            server = stack.enter_context(LlamaServer(binary, case.path, case.threads, CELLS))
            ids = list(case.prompt(prompt))
            contestants[SERVER] = lambda: server.completion(ids, tokens)
        for once in contestants.values():
            once()
        speeds = rounds(case.rounds, contestants, case.quiet)
    _report(speeds, result)
    result.notes.append(f"chosen: {chosen.label}; {prompt} prompt tokens, {tokens} generated")


def _report(speeds: dict[str, list[Speeds]], result: Result) -> None:
    ours = CHOSEN if CHOSEN in speeds else PLAIN
    for index, kind in enumerate(("prefill", "decode")):
        by_name = {name: [speed[index] for speed in values] for name, values in speeds.items()}
        if SERVER in speeds:
            against_server = ratios(by_name[ours], by_name[SERVER])
            result.figures.append(
                Figure.of(f"{kind}: {ours} / llama-server", against_server, target=Target("≥", 1.0))
            )
        if ours != PLAIN:
            result.figures.append(Figure.of(f"{kind}: {ours} / plain", ratios(by_name[ours], by_name[PLAIN])))
        result.figures += [Figure.of(f"{kind}: {name}", values, "tokens/s") for name, values in by_name.items()]
