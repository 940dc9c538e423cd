"""The quiz and the arithmetic behind its tables. What a model makes of it is nobody's business in a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reame_conclave.stopping import Majority, Never

from bench.conclave.candidates import Answered, Said, load, save
from bench.conclave.intervals import paired, wilson
from bench.conclave.plot import draw
from bench.conclave.quiz import make_quiz
from bench.conclave.replay import count, is_right
from bench.conclave.report import accuracy_table, agreement_table, kinds_table, ways


def answered(*texts: tuple[str, int], number: int = 0) -> Answered:
    return Answered(
        make_quiz(number + 1, 3)[number], tuple(Said(text, n, False, -1.0 - n) for text, n in texts)
    )


def test_a_quiz_is_the_same_for_the_same_seed() -> None:
    quiz = make_quiz(70, 7)
    assert quiz == make_quiz(90, 7)[:70]
    assert quiz != make_quiz(70, 8)
    assert len({item.question for item in quiz}) == 70
    assert {item.kind for item in quiz} == {"arithmetic", "words", "extraction"}


def test_arithmetic_is_right() -> None:
    for item in make_quiz(200, 1):
        if item.kind == "arithmetic":
            [expression] = re.findall(r"What is (.*)\?", item.question)
            assert re.fullmatch(r"[\d +*()-]+", expression)
            assert eval(expression) == int(item.answer)


def test_answers_are_read_by_value() -> None:
    item = next(item for item in make_quiz(20, 1) if item.kind == "arithmetic")
    assert is_right(item, f"So it is\nAnswer: {int(item.answer)}.0")
    assert not is_right(item, f"Answer: {int(item.answer) + 1}")
    assert not is_right(item, "")


def test_votes_are_replayed_step_by_step() -> None:
    right = make_quiz(1, 3)[0].answer
    one = answered(
        (f"Answer: {right}", 10), (f"Answer: {right}", 4), ("Answer: 1", 6), (f"Answer: {right}", 20)
    )
    full, early = count(one, 4, Never()), count(one, 4, Majority())
    assert (full.right, full.consensus, full.generated, full.steps) == (True, 3, 40, 20)
    assert (early.right, early.consensus, early.generated, early.full, early.steps) == (True, 3, 40, 40, 20)
    three = count(one, 3, Majority())
    assert (three.consensus, three.steps, three.generated) == (2, 10, 20)
    swift = answered((f"Answer: {right}", 9), (f"Answer: {right}", 4), ("Answer: 1", 60))
    assert (count(swift, 3, Majority()).generated, count(swift, 3, Majority()).full) == (9 + 4 + 9, 73)


@pytest.mark.parametrize(
    ("share", "size", "low", "high"), [(0.5, 100, 0.404, 0.596), (0.0, 20, 0.0, 0.161), (1.0, 20, 0.839, 1.0)]
)
def test_intervals(share: float, size: int, low: float, high: float) -> None:
    assert wilson(share, size) == pytest.approx((low, high), abs=1e-3)


def test_paired_differences() -> None:
    same = [1.0, 0.0] * 20
    assert paired(same, same) == (0.0, 0.0)
    low, high = paired([1.0] * 40, same)
    assert 0.3 < low < 0.5 < high < 0.7


def test_tables_and_the_picture(tmp_path: Path) -> None:
    some = [answered(*[(f"Answer: {i % 3}", 5 + i) for i in range(9)], number=number) for number in range(8)]
    save(tmp_path / "candidates.json", some)
    assert load(tmp_path / "candidates.json") == some
    assert len(ways(some)) == 2 + 3 * 4
    assert len(accuracy_table(some)) == 2 + 2 + 3 * 4
    assert [line.split("|")[1].strip() for line in kinds_table(some)[2:]] == [
        "arithmetic",
        "words",
        "extraction",
    ]
    assert "3 of 5" not in agreement_table(some)[0]
    draw(some, tmp_path / "plot.png", "a model")
    assert (tmp_path / "plot.png").stat().st_size > 10_000
