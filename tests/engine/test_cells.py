"""The ledger of cells against a plain model of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reame_core.engine.cells import CellLedger, Cells
from tests.engine.support import thorough

CAPACITY = 24


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.ledger = CellLedger(CAPACITY)
        self.holders: list[list[int]] = []

    @rule(count=st.integers(0, CAPACITY))
    def place(self, count: int) -> None:
        held = {cell for holder in self.holders for cell in holder}
        free = [cell for cell in range(CAPACITY) if cell not in held]
        if count > len(free):
            with pytest.raises(AssertionError):
                self.ledger.place(count)
            return
        assert self.ledger.lowest_free == (free[0] if free else CAPACITY)
        cells = self.ledger.place(count).tolist()
        assert cells == free[:count]
        self.holders.append(cells)

    @precondition(lambda self: self.holders)
    @rule(data=st.data())
    def share(self, data: st.DataObject) -> None:
        holder = data.draw(st.sampled_from(self.holders))
        shared = holder[: data.draw(st.integers(0, len(holder)))]
        self.ledger.share(self.cells(shared))
        self.holders.append(list(shared))

    @precondition(lambda self: self.holders)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        holder = data.draw(st.sampled_from(self.holders))
        kept = data.draw(st.integers(0, len(holder)))
        going = holder[kept:]
        sole = [c for c in going if sum(c in h for h in self.holders) == 1]
        assert self.ledger.sole(self.cells(going)).tolist() == sole
        self.ledger.release(self.cells(going))
        del holder[kept:]

    @rule()
    def reset(self) -> None:
        self.ledger.reset()
        self.holders.clear()

    @invariant()
    def counts(self) -> None:
        held = {cell for holder in self.holders for cell in holder}
        assert self.ledger.used == len(held)
        assert self.ledger.free == CAPACITY - len(held)

    @staticmethod
    def cells(numbers: list[int]) -> Cells:
        return np.array(numbers, np.int32)


LedgerMachine.TestCase.settings = thorough(30)
TestLedger = LedgerMachine.TestCase


@thorough(50)
@given(st.integers(1, 50))
def test_a_new_ledger_places_cells_in_order(capacity: int) -> None:
    ledger = CellLedger(capacity)
    assert ledger.place(capacity).tolist() == list(range(capacity))
    assert (ledger.free, ledger.used, ledger.lowest_free) == (0, capacity, capacity)
