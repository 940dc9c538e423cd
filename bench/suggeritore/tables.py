"""A Markdown table of ten rows that nobody has asked for before: with drafts from its form
against without, and against what the cost of a batch of k rows allows with as many tokens accepted."""

from __future__ import annotations

from bench.report import Result, Target
from bench.speculation.stage import Stage
from bench.suggeritore.forms import compare
from bench.suggeritore.questions import TABLES

TOKENS = 320


def measure(stage: Stage, result: Result) -> None:
    compare(stage, result, TABLES, TOKENS, Target("≥", 1.3), Target("≥", 0.9))
