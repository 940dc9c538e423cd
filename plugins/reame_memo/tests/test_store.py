"""The file of answers: what is there was put there, whatever happens to the file."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from reame_memo.database import NAME, remove_ruined
from reame_memo.store import Held, Limits, Store

from plugins.reame_diskkv.tests.test_disks import tmpfs
from plugins.reame_memo.tests.clocks import Clock
from tests.engine.support import thorough

ROOT = Path(__file__).parents[3]
A, B = b"a" * 16, b"b" * 16
DAY = 86_400.0
LIMITS = Limits(1e9, 30 * DAY)


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


def value(number: int, length: int = 3000) -> bytes:
    return bytes([number % 256]) * length


@contextmanager
def opened(folder: Path, limits: Limits = LIMITS, clock: Clock | None = None) -> Iterator[Store]:
    clock = clock or Clock()
    with closing(Store(folder, limits, clock=clock, wall_clock=clock)) as store:
        yield store


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


def test_what_was_put_is_there_in_the_next_process_as_well(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        assert store.get(key(1)) is None
        assert store.put(key(1), A, b"one")
        assert store.put(key(1), A, b"another")
        assert store.put(key(2), A, b"")
        assert store.get(key(1)) == b"another"
    with opened(tmp_path) as store:
        assert [store.get(key(number)) for number in (1, 2, 3)] == [b"another", b"", None]
        assert store.held().answers == 2


def test_nothing_is_made_before_there_is_something_to_keep(tmp_path: Path) -> None:
    with opened(tmp_path / "memo") as store:
        assert store.get(key(1)) is None
        assert store.held() == Held(0, 0)
        assert store.forget() == 0
        store.remove(key(1))
        assert not (tmp_path / "memo").exists()


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with opened(tmp_path / "memo") as store:
            store.put(key(1), A, b"one")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "memo").iterdir()}
    finally:
        os.umask(before)
    assert {f"{NAME}", f"{NAME}-wal", f"{NAME}-shm"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "memo").stat().st_mode) == 0o700


def test_what_is_too_old_is_not_given_and_goes(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, Limits(1e9, 2 * DAY), clock) as store:
        store.put(key(1), A, b"one")
        clock.now += DAY
        store.put(key(2), A, b"two")
        assert store.get(key(1)) == b"one"
        clock.now += 1.5 * DAY
        assert store.get(key(1)) is None
        assert store.get(key(2)) == b"two"
        clock.now += DAY
        store.put(key(3), A, b"three")
        assert store.held().answers == 1, "nobody asked for the second"


def test_a_full_file_loses_what_was_not_wanted_for_longest(tmp_path: Path) -> None:
    clock = Clock()
    limit = 2e6
    with opened(tmp_path, Limits(limit, 300 * DAY), clock) as store:
        for number in range(1200):
            clock.now += 7200
            store.put(key(number), A, value(number))
            assert store.get(key(0)) == value(0), "it is wanted each time"
            assert store.held().bytes <= limit
        present = [number for number in range(1, 1200) if store.get(key(number)) is not None]
    assert present == list(range(present[0], 1200)), "the newest, without gaps"
    assert 250 < len(present) < 667
    assert (tmp_path / NAME).stat().st_size < 1.2 * limit


def test_a_value_larger_than_everything_is_not_kept(tmp_path: Path) -> None:
    with opened(tmp_path, Limits(100_000, 30 * DAY)) as store:
        store.put(key(1), A, bytes(200_000))
        assert store.get(key(1)) is None
        assert store.put(key(2), A, b"two")
        assert store.get(key(2)) == b"two"


def test_tenants_and_ages_are_forgotten_and_their_bytes_overwritten(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, clock=clock) as store, opened(tmp_path, clock=clock) as server:
        for number in range(4):
            store.put(key(number), (A, B)[number % 2], b"the secret of %d " % number * 50)
            clock.now += DAY
        assert server.forget(tenant=B) == 2
        assert [number for number in range(4) if store.get(key(number)) is not None] == [0, 2]
        assert server.forget(tenant=A, made_before=clock.now - 3.5 * DAY) == 1
        assert [number for number in range(4) if store.get(key(number)) is not None] == [2]
        assert server.forget() == 1
        assert server.forget() == 0
        left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"secret" not in left


@pytest.mark.parametrize("damage", ["value", "another's value", "type"])
def test_a_value_that_is_not_what_was_put_is_a_miss_and_goes(tmp_path: Path, damage: str) -> None:
    with opened(tmp_path) as store:
        store.put(key(1), A, b"one")
        store.put(key(2), A, b"two")
        with closing(sqlite3.connect(tmp_path / NAME)) as other, other:
            statement = {
                "value": "UPDATE answers SET value = substr(value, 1, 18) || x'00' WHERE key = :key",
                "another's value": "UPDATE answers SET value = (SELECT value FROM answers WHERE key <> :key) "
                "WHERE key = :key",
                "type": "UPDATE answers SET value = 'a text of more than sixteen' WHERE key = :key",
            }[damage]
            other.execute(statement, {"key": key(1)})
        assert store.get(key(1)) is None
        assert store.get(key(2)) == b"two"
        assert store.held().answers == 1


@pytest.mark.parametrize("begins", ["no database", "torn", "empty"])
def test_a_ruined_file_is_made_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture, begins: str) -> None:
    with opened(tmp_path) as store:
        for number in range(100):
            store.put(key(number), A, value(number))
    path = tmp_path / NAME
    whole = path.read_bytes()
    path.write_bytes({"no database": b"x" * 9000, "torn": whole[: len(whole) // 3], "empty": b""}[begins])
    with opened(tmp_path) as store:
        found = [store.get(key(number)) for number in range(100)]
        assert all(each in (None, value(number)) for number, each in enumerate(found))
        assert None in found
        for number in range(100):
            store.put(key(number), A, value(number, 10))
            store.put(key(number), A, value(number, 10))
        assert [store.get(key(number)) for number in range(100)] == [value(number, 10) for number in range(100)]
    assert bool(warnings(caplog)) == (begins != "empty")


def test_of_a_later_version_nothing_is_read_and_nothing_is_changed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path) as store:
        store.put(key(1), A, b"one")
    with closing(sqlite3.connect(tmp_path / NAME)) as other:
        other.execute("PRAGMA user_version = 99")
    with opened(tmp_path) as store:
        assert store.get(key(1)) is None
        assert not store.put(key(2), A, b"two")
        assert not store.usable
    [warning] = warnings(caplog)
    assert "later version of Reame" in warning
    with closing(sqlite3.connect(tmp_path / NAME)) as other:
        assert other.execute("SELECT count(*) FROM answers").fetchone() == (1,)


def test_a_folder_that_cannot_be_made_pauses_and_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    (tmp_path / "file").touch()
    with opened(tmp_path / "file" / "memo", clock=clock) as store:
        assert not store.put(key(1), A, b"one")
        assert not store.put(key(1), A, b"one")
        assert not store.usable
        assert store.errors == 1
        (tmp_path / "file").unlink()
        clock.now += 31
        assert store.put(key(1), A, b"one")
        assert store.get(key(1)) == b"one"
    assert len(warnings(caplog)) == 1


def test_a_full_disk_costs_what_is_not_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    with tmpfs(tmp_path / "small", "1m") as small, opened(small / "memo", clock=clock) as store:
        kept = [number for number in range(600) if store.put(key(number), A, value(number))]
        assert 20 < len(kept) < 600
        assert not store.usable
        assert all(store.get(key(number)) == value(number) for number in kept), "reading goes on"
        clock.now += 31
        assert store.usable
    assert "full" in warnings(caplog)[0]


def test_who_reads_does_not_wait_for_who_writes(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.put(key(1), A, b"one")
        with store._writing.lock:
            assert store.get(key(1)) == b"one"
            assert store.held().answers == 1


def test_answers_are_given_where_nothing_can_be_written(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.put(key(1), A, b"one")
        with closing(sqlite3.connect(tmp_path / NAME)) as other:
            other.execute("CREATE TRIGGER no BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no'); END")
        assert not store.put(key(2), A, b"two")
        assert not store.usable
        assert store.get(key(1)) == b"one"


def test_a_file_that_somebody_has_removed_is_made_anew(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.put(key(1), A, b"one")
        assert store.get(key(1)) == b"one"
        for path in tmp_path.iterdir():
            path.unlink()
        assert store.get(key(1)) is None
        assert store.put(key(2), A, b"two")
        assert store.get(key(2)) == b"two"
    with opened(tmp_path) as store:
        assert store.get(key(2)) == b"two"


def test_who_finds_an_old_file_ruined_leaves_the_new_one_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.put(key(1), A, b"one")
    inode = (tmp_path / NAME).stat().st_ino
    remove_ruined(tmp_path / NAME, inode + 1)
    assert (tmp_path / NAME).exists()
    remove_ruined(tmp_path / NAME, inode)
    assert not (tmp_path / NAME).exists()


def test_one_large_answer_makes_room_for_itself_alone(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, Limits(2e6, 30 * DAY), clock) as store:
        for number in range(9):
            clock.now += 1
            store.put(key(number), A, value(number, 200_000))
        clock.now += 1
        assert store.put(key(9), A, value(9, 200_000))
        there = [number for number in range(10) if store.get(key(number)) is not None]
        assert there[-1] == 9
        assert len(there) >= 8


def test_a_lower_limit_is_kept_step_by_step(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for number in range(1500):
            store.put(key(number), A, value(number))
    with opened(tmp_path, Limits(1e6, 30 * DAY)) as store:
        sizes = []
        for number in range(1500, 1505):
            store.put(key(number), A, value(number))
            sizes.append(store.held().bytes)
        assert sizes[0] > sizes[1] > 1e6 >= max(sizes[2:])


def test_forgetting_says_when_it_could_not_overwrite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reame_memo.store._FORGETTING_S", 0.01)
    with opened(tmp_path) as store:
        store.put(key(1), A, b"one")
        with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM answers").fetchone()
            with pytest.raises(sqlite3.OperationalError, match="not yet overwritten"):
                store.forget()
        assert store.get(key(1)) is None
        assert store.forget() == 0


def test_whoever_writes_for_long_is_not_waited_for(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.put(key(1), A, b"one")
        with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert store.get(key(1)) == b"one"
            assert not store.put(key(2), A, b"two")
            assert store.usable
            other.execute("ROLLBACK")
        assert store.put(key(2), A, b"two")


def test_who_is_not_patient_hears_what_was_held_before(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.put(key(1), A, b"one")
        before = store.held()
        store.put(key(2), A, b"two")
        with store._reading.lock:
            assert store.held(patient=False) == before
        assert store.held(patient=False).answers == 2


def test_closed_means_closed(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.put(key(1), A, b"one")
        store.close()
        assert store.get(key(1)) is None
        assert not store.put(key(2), A, b"two")
        assert not store.usable


def test_several_threads_and_several_connections(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as two:
        found: list[bool] = []

        def work(store: Store, first: int) -> None:
            for number in range(first, first + 50):
                while not store.put(key(number), A, value(number)):
                    assert store.usable
                found.append(store.get(key(number)) == value(number))

        threads = [
            threading.Thread(target=work, args=(store, first))
            for store, first in ((one, 0), (one, 50), (two, 100), (two, 150))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [True] * 200
        assert one.held().answers == two.held().answers == 200


WRITER = """
import sys
from pathlib import Path
from reame_memo.store import Limits, Store
store = Store(Path(sys.argv[1]), Limits(1e9, 1e9))
number = int(sys.argv[2])
while True:
    while not store.put(number.to_bytes(32, "big"), b"t" * 16, bytes([number % 256]) * 3000):
        pass
    print(number, flush=True)
    number += 1
"""


def test_kill_9_at_any_moment_loses_nothing_that_was_put(tmp_path: Path) -> None:
    """Two processes write from the first moment on, and each is killed somewhere in its work."""
    for turn in range(5):
        children = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(tmp_path), str(1_000_000 * who + 1000 * turn)],
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            for who in (1, 2)
        ]
        told: list[int] = []
        for child in children:
            assert child.stdout is not None
            told += [int(child.stdout.readline()) for _ in range(10 + 7 * turn)]
        for child in children:
            child.send_signal(signal.SIGKILL)
            assert child.stdout is not None
            told += [int(line) for line in child.stdout.read().splitlines()[:-1]]
            child.wait()
            child.stdout.close()
        with opened(tmp_path, Limits(1e9, 1e12)) as store:
            assert all(store.get(key(number)) == value(number) for number in told)


class Files(RuleBasedStateMachine):
    """Two processes with one file against a dictionary, within the limits."""

    folder: Path
    numbers = st.integers(0, 5)

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.temporary = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.model: dict[bytes, tuple[bytes, bytes, float]] = {}
        self.stores = [self.new(), self.new()]

    def new(self) -> Store:
        limits = Limits(1e9, 10 * DAY)
        return Store(Path(self.temporary.name), limits, clock=self.clock, wall_clock=self.clock)

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.temporary.cleanup()

    @rule(who=st.integers(0, 1), number=numbers, tenant=st.sampled_from([A, B]), value=st.binary(max_size=50))
    def put(self, who: int, number: int, tenant: bytes, value: bytes) -> None:
        assert self.stores[who].put(key(number), tenant, value)
        self.model[key(number)] = (tenant, value, self.clock.now)

    @rule(who=st.integers(0, 1), number=numbers)
    def remove(self, who: int, number: int) -> None:
        self.stores[who].remove(key(number))
        self.model.pop(key(number), None)

    @rule(who=st.integers(0, 1), tenant=st.sampled_from([A, B, None]), days=st.sampled_from([None, 1, 3]))
    def forget(self, who: int, tenant: bytes | None, days: int | None) -> None:
        before = None if days is None else self.clock.now - days * DAY
        self.stores[who].forget(tenant=tenant, made_before=before)
        self.model = {
            name: each
            for name, each in self.model.items()
            if (tenant is not None and each[0] != tenant) or (before is not None and each[2] >= before)
        }

    @rule(days=st.integers(0, 4))
    def wait(self, days: int) -> None:
        self.clock.now += days * DAY

    @rule(who=st.integers(0, 1))
    def restart(self, who: int) -> None:
        self.stores[who].close()
        self.stores[who] = self.new()

    @invariant()
    def what_is_there_is_what_was_put_last(self) -> None:
        for number in range(6):
            tenant_value_made = self.model.get(key(number))
            alive = tenant_value_made is not None and tenant_value_made[2] >= self.clock.now - 10 * DAY
            expected = tenant_value_made[1] if tenant_value_made is not None and alive else None
            assert [store.get(key(number)) for store in self.stores] == [expected, expected]


TestFiles = Files.TestCase
TestFiles.settings = thorough(20)
