"""The short end of a prompt behind a long one that is in memory: the engine with the prices of attention, which
may choose another number of rows, against one that prices a batch by its rows alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count

from bench.case import Case
from bench.report import Figure, Result
from bench.requests import Watched, run
from bench.rounds import ratios, rounds
from bench.spy import DecodeSpy
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.engine import Engine

CONTEXTS, TAILS = (850, 1500), (22, 48, 60)


def measure(case: Case, result: Result) -> None:
    engine = case.experienced_engine()
    whole = engine.cost.copy()
    rows_only = BatchCost()
    rows_only.remember(whole.measured())
    text = case.prompt(case.size(max(CONTEXTS)))
    run(engine, [Watched(engine, text, 1)])
    beginnings = count(1000)  # tokens, so that no tail is in memory either
    few, many = (1e6 * price for price in whole.attention)
    result.notes.append(f"a row and a cell: {few:.2f} ns in small batches, {many:.2f} ns in tiles")
    for context in map(case.size, CONTEXTS):
        for tail in TAILS:
            sizes: dict[str, list[int]] = {}
            contestants = {
                name: partial(
                    *(_computing, case, engine, cost, text[:context], tail, beginnings),
                    sizes.setdefault(name, []),
                )
                for name, cost in (("rows alone", rows_only), ("attention priced", whole))
            }
            seconds = rounds(case.rounds, contestants, case.quiet)
            title = f"{tail} rows behind {context}"
            result.figures.append(Figure.of(title, ratios(seconds["rows alone"], seconds["attention priced"])))
            for name, taken in seconds.items():
                found = " or ".join(map(str, sorted(set(sizes[name]))))
                milliseconds = [1000 * s for s in taken]
                result.figures.append(Figure.of(f"{title}: {name}, {found} rows", milliseconds, "ms"))


def _computing(
    case: Case,
    engine: Engine,
    cost: BatchCost,
    context: tuple[int, ...],
    tail: int,
    beginnings: Iterator[int],
    sizes: list[int],
) -> float:
    """Seconds that the batches take up to the first token, where all but ``tail`` tokens are in memory."""
    engine.cost.adopt(cost)
    prompt = (*context, next(beginnings), *case.prompt(tail - 1))
    with DecodeSpy(case.backend) as spy:
        run(engine, [Watched(engine, prompt, 1, reuse=True)])
    sizes += spy.rows
    return sum(spy.seconds)
