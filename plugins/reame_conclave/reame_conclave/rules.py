"""What one vote goes by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reame_conclave.judges.answer import Judge
from reame_conclave.stopping import StopRule

if TYPE_CHECKING:
    from reame_core.engine.request import SamplingParams

EXPLORED = 0.95
"""Probability within which explorers draw where the request sets no bound of its own: hotter samples of a small
model would otherwise wander into tokens that nobody means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All that a request may choose."""

    candidates: int
    coolest: float
    hottest: float
    """Temperatures of the first and the last explorer."""
    judge: Judge
    stop: StopRule
    wave: int | None = None
    """Candidates that are started together; None for all."""
    min_consensus: float | None = None
    """Share of all candidates that has to agree, or the answer is said to need more than this model."""
    show_candidates: bool = False


def samplings(rules: Rules, wanted: SamplingParams) -> Sequence[SamplingParams]:
    """How each candidate is sampled where the request asks for ``wanted``. Candidate 0 is the untouched answer;
    explorers are never cooler than that.

    A greedy request has the same answer each time, so the explorers of one without a seed have a fixed one: the
    engine draws each candidate's numbers from the seed and its number."""
    explorers = rules.candidates - 1
    seed = 0 if wanted.seed is None and wanted.temperature == 0 else wanted.seed
    free = wanted.top_p == 1 and wanted.top_k == 0 and wanted.min_p == 0
    steps = max(1, explorers - 1)
    return [
        wanted,
        *(
            replace(
                wanted,
                temperature=max(
                    wanted.temperature, rules.coolest + (rules.hottest - rules.coolest) * step / steps
                ),
                top_p=EXPLORED if free else wanted.top_p,
                seed=seed,
            )
            for step in range(explorers)
        ),
    ]
