"""A neighbour's prompt: one user decodes while another submits a long prompt; the gaps between the first one's
tokens until the second one's first token, against twice the stall budget; and what that costs the second."""

from __future__ import annotations

from bench.case import Case
from bench.report import Figure, Result, Target
from bench.requests import Watched, alone, run
from bench.rounds import median, percentile
from bench.spy import DecodeSpy
from reame_core.engine.engine import Engine

STALL_MS = 200.0
LONG, SHORT, BEFORE = 1500, 64, 8
STATES = ("engine without experience", "the same engine again")


def measure(case: Case, result: Result) -> None:
    long = case.size(LONG)
    prefill = case.quiet.run(lambda: alone(case.engine(STALL_MS), case.prompt(long), 1).prefill)
    result.figures.append(Figure("a long prompt alone", prefill, "s"))
    for state, scene in zip(STATES, case.quiet.run(lambda: _scenes(case, long)), strict=True):
        result.figures += scene.figures(state, prefill)
        result.notes.append(scene.note(state))
    result.notes.append(f"a prompt of {long} tokens, stall_ms {STALL_MS:g}")


class _Scene:
    """One user decoding, another one arriving."""

    def __init__(self, engine: Engine, case: Case, long: int) -> None:
        self.first = Watched(engine, case.prompt(SHORT), long)
        run(engine, [self.first], until=lambda: len(self.first.token_times) >= BEFORE)
        with DecodeSpy(case.backend) as self.spy:
            self.second = Watched(engine, case.prompt(long), 2)
            run(engine, [self.first, self.second], until=lambda: bool(self.second.token_times))
        engine.cancel_all()

    def figures(self, state: str, prefill: float) -> list[Figure]:
        gaps = [1000 * gap for gap in self.first.gaps]
        before, during = gaps[: BEFORE - 1], gaps[BEFORE - 1 :]
        return [
            Figure(f"{state}: longest gap", max(during), "ms", target=Target("≤", 2 * STALL_MS)),
            Figure(f"{state}: 99 % of the gaps", percentile(during, 99), "ms"),
            Figure(f"{state}: half of the gaps", median(during), "ms"),
            Figure(f"{state}: half of the gaps before", median(before), "ms"),
            Figure(f"{state}: the second's first token after", self.second.prefill, "s"),
            Figure(f"{state}: the same / a long prompt alone", self.second.prefill / prefill),
        ]

    def note(self, state: str) -> str:
        steps = [f"{rows}:{1000 * s:.0f}" for rows, s in zip(self.spy.rows, self.spy.seconds, strict=True)]
        shown = steps if len(steps) <= 36 else [*steps[:24], "…", *steps[-12:]]
        return f"{state}, {len(steps)} batches as rows:ms: {' '.join(shown)}"


def _scenes(case: Case, long: int) -> list[_Scene]:
    engine = case.engine(STALL_MS)
    return [_Scene(engine, case, long) for _ in STATES]
