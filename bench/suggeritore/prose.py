"""Answers without any form: with the plugin asked for drafts at each step against without. What asking takes is
also measured by itself, for the machine drifts by more than that."""

from __future__ import annotations

from bench.report import Figure, Result, Target
from bench.speculation.stage import Stage
from bench.suggeritore.forms import compare
from bench.suggeritore.questions import PROSE

TOKENS = 160


def measure(stage: Stage, result: Result) -> None:
    drafted = compare(stage, result, PROSE, TOKENS, Target("≥", 0.99), None)
    asking = [run.told.asking / run.told.decode for run in drafted]
    result.figures.append(Figure.of("asking, share of the time", asking, "", target=Target("≤", 0.01)))
