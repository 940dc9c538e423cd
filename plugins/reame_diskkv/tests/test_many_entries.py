"""What an entry costs does not depend on how many there are: counted in steps of SQLite, not in time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from reame_diskkv import index as index_module
from reame_diskkv.lookup import longest_chain

from plugins.reame_diskkv.tests.stores import SIZE, TestStore, chain, prompt

FEW, MANY = 1_000, 100_000
HOT = list(range(8))
"""A beginning that most prompts share."""


class Steps:
    """Counts what every connection made from now on does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        connect = sqlite3.connect

        def counting(*arguments: Any, **options: Any) -> sqlite3.Connection:
            connection = connect(*arguments, **options)
            connection.set_progress_handler(self._step, 1)
            return connection

        monkeypatch.setattr(index_module.sqlite3, "connect", counting)

    def _step(self) -> int:
        self.count += 1
        return 0

    def of(self, action: Callable[[], object]) -> int:
        self.count = 0
        action()
        return self.count


def prompts(count: int) -> list[Sequence[int]]:
    """Half of them behind the hot beginning, half on their own."""
    return [
        [*HOT, 1000 + number, 2, 3, 4] if number % 2 else [5000 + number, 6, 7, 8] for number in range(count)
    ]


def filled(path: Path, count: int) -> TestStore:
    """An index of ``count`` blocks; files are not looked at here."""
    store = TestStore(path)
    store.put(HOT)
    index = store.store._opened()
    with index.transaction():
        for number, tokens in enumerate(prompts(count)):
            index.add(chain(tokens)[-1], 100, 60, float(number))
    store.store._next_shard = 256
    return store


def costs(path: Path, steps: Steps) -> dict[str, int]:
    made: list[TestStore] = []

    def start() -> None:
        made.append(TestStore(path))
        made[0].store._opened()

    cost = {"start": steps.of(start)}
    [store] = made
    index = store.store._opened()
    known, unknown = [*HOT, 1001, 2, 3, 4], [*HOT, 1001, 2, 9, 9]
    for name, tokens, length in [("hit", known, 12), ("partial hit", unknown, 10), ("miss", [4, 4, 4], 0)]:
        found = []
        cost[name] = steps.of(lambda t=tokens, f=found: f.extend(longest_chain(index, prompt(t), 0, len(t))))
        assert (found[-1].end if found else 0) == length
    cost["store"] = steps.of(lambda: store.put([*HOT, 999, 1, 1, 1]))
    cost["use"] = steps.of(lambda: store.use(known))
    cost["evict"] = steps.of(lambda: store.store.room.evict(index, 1, b""))
    cost["total"] = steps.of(index.total)
    store.close()
    return cost


def test_steps_do_not_grow_with_the_number_of_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path / "few", FEW).close()
    filled(tmp_path / "many", MANY).close()
    steps = Steps(monkeypatch)
    few, many = costs(tmp_path / "few", steps), costs(tmp_path / "many", steps)
    assert len(chain(HOT)) * SIZE == len(HOT)
    for name, cost in few.items():
        assert many[name] <= 1.2 * cost + 10, (name, cost, many[name])
