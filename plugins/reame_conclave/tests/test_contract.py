"""The contracts of all judges and drafters, which the core's own tools for plugins check."""

from __future__ import annotations

import pytest
from reame_conclave.judges.registry import JUDGES
from reame_conclave.plugin import NAME, ConclavePlugin

from reame_core.testing.contracts import check_drafter, check_judge

TEXTS = (
    '{"total": 42}',
    '```json\n{"total": 42.0}\n```',
    "<answer>B</answer>",
    "So the answer is (B).",
    "forty-two",
    "#### 42",
    "x = 42\nx = 42",
    "<think>41?</think> 42",
)
WISHES: dict[str, dict[str, object]] = {
    **{judge: {"judge": judge} for judge in JUDGES},
    "pattern": {"pattern": "([0-9]+)"},
    "field": {"field": "total"},
    **{f"stop {stop}": {"stop": stop} for stop in ("beta", "window", "never")},
    "agreement": {"min_consensus": 0.6},
}


def fields(**wishes: object) -> dict[str, object]:
    return {"reame.conclave": {"n": 5, **wishes}}


@pytest.mark.parametrize("wish", WISHES)
def test_every_judge_and_stop_rule_keeps_the_contract_of_judges(wish: str) -> None:
    check_judge(ConclavePlugin, name=NAME, fields=fields(**WISHES[wish]), texts=TEXTS, examples=40)


def test_candidates_keep_the_contract_of_drafters() -> None:
    check_drafter(ConclavePlugin, name=NAME, fields=fields(), examples=20)
