"""A writing cache beside a decoding user: the answer to a prompt whose blocks are compressed and written
meanwhile, against the same answer without a cache."""

from __future__ import annotations

from bench.caching import caching
from bench.case import Case
from bench.report import Figure, Result, Target
from bench.requests import alone
from bench.rounds import ratios, rounds

PROMPT, TOKENS = 512, 96


def measure(case: Case, result: Result) -> None:
    prompt, tokens = case.prompt(case.size(PROMPT)), case.size(TOKENS)
    written: list[float] = []

    def writing() -> float:
        with caching(case, case.new_folder()) as each:
            seconds = alone(each.engine, prompt, tokens).decode
            each.flush()
            written.append(each.counts.written_bytes / 1e6)
        return seconds

    def without() -> float:
        return alone(case.engine(), prompt, tokens).decode

    seconds = rounds(case.rounds, {"without": without, "writing": writing}, case.quiet)
    cost = [100 * (ratio - 1) for ratio in ratios(seconds["writing"], seconds["without"])]
    result.figures += [
        Figure.of("decoding takes longer by", cost, "%", Target("≤", 3.0)),
        Figure.of("decoding without a cache", [tokens / s for s in seconds["without"]], "tokens/s"),
        Figure.of("written meanwhile", written, "MB"),
    ]
    result.notes.append(f"a prompt of {len(prompt)} tokens, an answer of {tokens}")
    result.notes.append(f"weight buffers: {case.buffers.label}")
