"""The number of threads beside busy neighbours, on a simulated machine."""

from __future__ import annotations

from itertools import pairwise

import pytest

from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.threads import FIRST_HOLD, LAST_HOLD, Threads
from tests.engine.support import FakeBackend, engine_on, greedy, plain, run, submit

QUIET_MS = {1: 70.0, 64: 900.0}
"""Of a batch, by rows."""


class Machine:
    """Beside neighbours batches take ``slowdown[threads]`` times what they take on the quiet machine."""

    def __init__(self, cores: int, slowdown: dict[int, float]) -> None:
        self.now = 0.0
        self.neighbours = 0.0
        self.slowdown = slowdown
        self.cost = BatchCost()
        self.cost.remember({float(rows): ms for rows, ms in QUIET_MS.items()})
        self.used: list[int] = []
        self.threads = Threads(cores, self.used.append, lambda: self.neighbours, self.cost, lambda: self.now)

    def batches(self, count: int, rows: int = 1) -> list[int]:
        """The number of threads of each of ``count`` batches."""
        found = []
        for _ in range(count):
            threads = self.threads.count
            taken = QUIET_MS[rows] * (self.slowdown[threads] if self.neighbours else 1.0)
            found.append(threads)
            self.now += taken / 1000
            self.cost.observe(rows, taken)
            self.threads.observe(rows, taken)
        return found


@pytest.fixture
def machine() -> Machine:
    return Machine(2, {1: 2.0, 2: 2.5})


def test_a_quiet_machine_keeps_all_threads(machine: Machine) -> None:
    assert machine.batches(100) == [2] * 100
    assert machine.used == []


def test_beside_a_neighbour_the_better_number_is_found_and_kept(machine: Machine) -> None:
    machine.batches(10)
    machine.neighbours = 1.0
    machine.batches(12)
    assert machine.threads.disturbed
    assert not machine.threads.trying
    assert machine.batches(40) == [1] * 40


def test_where_all_threads_are_better_they_are_kept() -> None:
    machine = Machine(2, {1: 3.0, 2: 2.5})
    machine.neighbours = 2.0
    machine.batches(12)
    assert machine.batches(30) == [2] * 30


def test_on_many_cores_only_those_in_use_are_given_up() -> None:
    machine = Machine(8, {8: 4.0, 6: 1.3, 1: 8.0})
    machine.neighbours = 2.0
    machine.batches(30)
    assert set(machine.used) == {6, 8}
    assert machine.threads.count == 6


def test_all_threads_are_back_when_the_neighbour_has_gone_and_costs_as_well(machine: Machine) -> None:
    machine.batches(10)
    before = machine.cost.measured()
    machine.neighbours = 1.0
    machine.batches(60)
    assert machine.cost.measured() != before
    assert machine.threads.quiet_cost.measured() == before
    machine.neighbours = 0.0
    machine.batches(3)
    assert machine.threads.count == 2
    assert not machine.threads.disturbed
    machine.batches(1)
    assert machine.cost.measured() == pytest.approx(before)


def test_one_quiet_look_is_no_reason(machine: Machine) -> None:
    machine.neighbours = 1.0
    machine.batches(20)
    machine.neighbours = 0.0
    machine.batches(1)
    machine.neighbours = 1.0
    assert set(machine.batches(5)) == {1}


def test_comparing_again_gets_rarer(machine: Machine) -> None:
    machine.neighbours = 1.0
    trials = []
    trying = False
    for _ in range(3000):
        machine.batches(1)
        if machine.threads.trying and not trying:
            trials.append(machine.now)
        trying = machine.threads.trying
    pauses = [after - before for before, after in pairwise(trials)]
    assert FIRST_HOLD < pauses[0] < FIRST_HOLD + 3
    assert LAST_HOLD < pauses[-1] < LAST_HOLD + 3


def test_another_number_of_neighbours_is_met_at_the_next_comparison() -> None:
    machine = Machine(4, {4: 3.0, 3: 1.5, 2: 2.0})
    machine.neighbours = 1.0
    machine.batches(20)
    assert machine.threads.count == 3
    machine.neighbours = 2.0
    machine.slowdown = {4: 3.0, 3: 2.8, 2: 2.0}
    machine.batches(200)
    assert machine.threads.count == 2


def test_few_long_batches_are_enough(machine: Machine) -> None:
    machine.neighbours = 1.0
    machine.batches(7, rows=64)
    assert not machine.threads.trying
    assert machine.threads.count == 1


def test_answers_are_the_same_with_changing_threads() -> None:
    busy = iter([0.0, 1.0] * 200)
    engine = engine_on(FakeBackend(threads=2), busy_cores=lambda: next(busy))
    found = submit(engine, greedy("question", 30, ignore_end=True))
    run(engine)
    assert found.said == plain(greedy("question", 30, ignore_end=True))
    assert engine.threads.disturbed
