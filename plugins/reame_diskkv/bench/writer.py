"""A writing cache beside a decoding user: the answer to a prompt whose blocks are compressed and written
meanwhile, against the same answer without a cache."""

from __future__ import annotations

from pathlib import Path

from bench.case import Case
from bench.report import Figure, Result, Target
from bench.requests import alone
from bench.rounds import ratios, rounds
from plugins.reame_diskkv.bench.cached import cached

PROMPT, TOKENS = 512, 96


def measure(case: Case, result: Result, folder: Path) -> None:
    prompt, tokens = case.prompt(case.size(PROMPT)), case.size(TOKENS)
    places = iter(range(10_000))
    written: list[float] = []

    def writing() -> float:
        with cached(case, folder / str(next(places))) as each:
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
