from __future__ import annotations

import json

import pytest
from reame_bench.texts import document, invoices, tagger, tasks, triage
from reame_bench.texts.prose import handbook
from reame_bench.workloads.best_of import _wanted


@pytest.mark.parametrize("kind", [triage, tagger, invoices, document])
def test_the_same_seed_gives_the_same_texts(kind) -> None:  # type: ignore[no-untyped-def]
    many = kind.conversations(40)
    assert many == kind.conversations(40)
    assert many[:5] == kind.conversations(40, seed=kind.conversations.__defaults__[0])[:5]
    assert many != kind.conversations(40, seed=99)
    assert len({each[0]["content"] for each in many}) == 1, "all share their instructions"
    assert all([part["role"] for part in each] == ["system", "user"] for each in many)


def test_three_hundred_tickets_no_two_alike() -> None:
    assert len(set(triage.tickets(300))) == 300
    assert triage.tickets(300)[:40] == triage.tickets(40)


def test_the_examples_fit_their_schemas() -> None:
    lines = [line for line in triage.INSTRUCTIONS.splitlines() if line.startswith("{")]
    for line in lines:
        found = json.loads(line)
        assert list(found) == triage.SCHEMA["required"]
        assert found["category"] in triage.SCHEMA["properties"]["category"]["enum"]  # type: ignore[index]
    example = json.loads(invoices.INSTRUCTIONS[invoices.INSTRUCTIONS.index('{"vendor"') :])
    assert list(example) == invoices.SCHEMA["required"]


def test_a_handbook_is_as_long_as_wanted_and_begins_alike() -> None:
    short, long = handbook(100), handbook(1000)
    assert 100 <= len(short.split()) < 160
    assert 1000 <= len(long.split()) < 1060
    assert long.startswith(short)


def test_what_is_right_of_a_sum() -> None:
    [question] = (tasks.user("A crate holds 7 bottles. A shop buys 5 crates and sells 11 bottles. How many?"),)
    assert _wanted(question) == 24
