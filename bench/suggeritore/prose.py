"""Answers without any form: with the plugin asked for drafts at each step against without."""

from __future__ import annotations

from bench.report import Result, Target
from bench.speculation.stage import Stage
from bench.suggeritore.forms import compare
from bench.suggeritore.questions import PROSE

TOKENS = 160


def measure(stage: Stage, result: Result) -> None:
    compare(stage, result, PROSE, TOKENS, Target("≥", 0.99), None)
