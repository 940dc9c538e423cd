"""A user who reads an answer while the blocks of its prompt are published, the store on the same machine:
against a disk cache alone, and against neither."""

from __future__ import annotations

from itertools import count

from bench.arca.server import server
from bench.arca.store import running_store
from bench.case import Case
from bench.report import Figure, Result, Target
from bench.requests import alone
from bench.rounds import ratios, rounds

PROMPT, TOKENS = 512, 96


def measure(case: Case, result: Result) -> None:
    prompt, tokens = case.prompt(case.size(PROMPT)), case.size(TOKENS)
    numbers = count()
    published: list[float] = []
    with running_store() as url:

        def answered(shared: bool) -> float:
            with server(case, case.new_folder(), url if shared else None, f"r{next(numbers)}") as each:
                seconds = alone(each.engine, prompt, tokens).decode
                if shared:
                    # What is published behind the answer costs its reader nothing.
                    published.append(each.shared_bytes("published") / 1e6)
                each.flush()
            return seconds

        contestants = {
            "neither": lambda: alone(case.engine(), prompt, tokens).decode,
            "disk": lambda: answered(False),
            "published": lambda: answered(True),
        }
        seconds = rounds(case.rounds, contestants, case.quiet)
    for name in ("disk", "neither"):
        cost = [100 * (ratio - 1) for ratio in ratios(seconds["published"], seconds[name])]
        target = Target("≤", 2.0) if name == "disk" else None
        against = "a disk cache alone" if name == "disk" else "neither disk cache nor store"
        result.figures.append(Figure.of(f"decoding takes longer than with {against} by", cost, "%", target))
    result.figures += [
        Figure.of("decoding with neither", [tokens / s for s in seconds["neither"]], "tokens/s"),
        Figure.of("published meanwhile", published, "MB"),
    ]
    result.notes.append(f"a prompt of {len(prompt)} tokens, an answer of {tokens}; the store on this machine")
    result.notes.append(f"weight buffers: {case.buffers.label}")
