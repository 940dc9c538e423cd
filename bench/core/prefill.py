"""Computing a prompt: the engine, from submission to the first token, against bare ``llama_decode`` calls of
the very chunks the engine made."""

from __future__ import annotations

from bench.bare import BareLoop
from bench.case import Case
from bench.report import Figure, Result, Target
from bench.requests import alone
from bench.rounds import ratios, rounds
from bench.spy import DecodeSpy

LENGTHS = (512, 1024)


def measure(case: Case, result: Result) -> None:
    bare = BareLoop(case.backend)
    for length in (case.size(length) for length in LENGTHS):
        prompt = case.prompt(length)
        with DecodeSpy(case.backend) as spy:
            alone(case.engine(), prompt, 1)
        chunks = spy.rows

        def engine(prompt: tuple[int, ...] = prompt) -> float:
            return alone(case.engine(), prompt, 1).prefill

        def plain(prompt: tuple[int, ...] = prompt, chunks: list[int] = chunks) -> float:
            case.backend.clear()
            return bare.prefill(prompt, chunks)

        seconds = rounds(case.rounds, {"bare": plain, "engine": engine}, case.quiet)
        result.figures += [
            Figure.of(
                f"{length} tokens: engine / bare, speed",
                ratios(seconds["bare"], seconds["engine"]),
                target=Target("≥", 0.95),
            ),
            Figure.of(f"{length} tokens: engine", [length / s for s in seconds["engine"]], "tokens/s"),
            Figure.of(f"{length} tokens: bare", [length / s for s in seconds["bare"]], "tokens/s"),
        ]
        result.notes.append(f"{length} tokens: chunks of {', '.join(map(str, chunks))} rows")
    bare.close()
