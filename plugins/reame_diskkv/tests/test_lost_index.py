"""Indexes that are lost, broken or somebody else's are made anew from the files."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plugins.reame_diskkv.tests.stores import TestStore

A = list(range(1, 11))
"""Two whole blocks and half of a third."""

Make = Callable[[], TestStore]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[TestStore] = []

    def make() -> TestStore:
        made.append(TestStore(tmp_path))
        return made[-1]

    yield make
    for store in made:
        store.close()


LOSSES = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(random.Random(1).randbytes(9000)),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a link": lambda path: (path.unlink(), path.symlink_to("/dev/null")),
    "somebody else's": lambda path: (path.unlink(), _foreign_database(path)),
    "of a later version": lambda path: _set_version(path, 99),
}


def _foreign_database(path: Path) -> None:
    import sqlite3

    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE block (recipe TEXT)")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()


def _set_version(path: Path, version: int) -> None:
    import sqlite3

    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_index_is_made_anew_from_the_files(make: Make, loss: str) -> None:
    # case 28
    first = make()
    first.put(A)
    first.put([*A[:8], 40])
    first.close()
    for suffix in ("-wal", "-shm"):
        (first.path / f"index.db{suffix}").unlink(missing_ok=True)
    LOSSES[loss](first.path / "index.db")
    second = make()
    second.sweep()
    assert second.found(A) == 10
    assert second.found([*A[:8], 40]) == 9
    assert second.check()
    assert len(second.warnings) == (0 if loss in ("deleted", "empty") else 1)
    second.put([*A[:8], 41])
    assert second.found([*A[:8], 41]) == 9


def test_an_index_that_breaks_in_the_middle_is_made_anew(make: Make) -> None:
    store = make()
    for start in range(0, 2000, 4):
        store.put(range(start, start + 4))
    index = store.path / "index.db"
    store.store._opened().run("PRAGMA wal_checkpoint(TRUNCATE)")
    store.store.close()
    data = bytearray(index.read_bytes())
    noise = random.Random(1)
    for page in range(4096, len(data) - 4096, 4096 * 3):
        data[page : page + 4096] = noise.randbytes(4096)
    index.write_bytes(data)
    for start in range(3000, 3400, 4):
        store.put(range(start, start + 4))
    store.store.examine()
    store.sweep()
    assert 1 <= len(store.warnings) <= 2
    store.sweep()
    assert store.found(range(4)) == 4
    assert store.check()


def test_an_index_that_another_process_set_aside_is_opened_again(make: Make) -> None:
    store = make()
    store.put(A)
    (store.path / "index.db").rename(store.path / "index.db.unusable")
    for suffix in ("-wal", "-shm"):
        (store.path / f"index.db{suffix}").unlink(missing_ok=True)
    assert store.put([*A[:4], 77])
    store.sweep()
    assert store.found([*A[:4], 77]) == 5
    assert store.found(A) == 10
