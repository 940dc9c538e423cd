"""Sessions: the files are the truth, the index only finds them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from reame_diskkv.index import Index
from reame_diskkv.session_files import Session, file_name
from reame_diskkv.sessions import (
    MOST_OF_ONE_OWNER,
    NoRoom,
    NotStored,
    Sessions,
    SessionTrouble,
    TooManySessions,
)

from plugins.reame_diskkv.tests.stores import ROOT, SIZE, TestStore, chain

A = tuple(range(1, 11))
"""Two whole blocks and half of a third."""
Open = Callable[[], tuple[TestStore, Sessions]]


@pytest.fixture
def reopened(tmp_path: Path) -> Iterator[Open]:
    """The same folder as after a restart, everything compared."""
    made: list[TestStore] = []

    def reopened() -> tuple[TestStore, Sessions]:
        if made:
            made[-1].close()
        made.append(TestStore(tmp_path))
        made[-1].store.find_sessions()
        made[-1].sweep()
        return made[-1], Sessions(made[-1].folder, made[-1].store.sessions, SIZE, made[-1].store.room)

    yield reopened
    made[-1].close()


def saved(store: TestStore, sessions: Sessions, title: str = "tides") -> Session:
    """A session of ``A``, whose blocks are stored."""
    store.put(A)
    session = sessions.create("alice", title)
    assert sessions.save(session, ROOT, A) == len(A)
    return session


def session_files(store: TestStore) -> list[Path]:
    return sorted((store.path / "sessions").iterdir())


def evicts_nothing(store: TestStore) -> bool:
    store.store.attempt(store.store.room.evict_all)
    return store.found(A) == len(A)


LOSSES = {
    "none": lambda path: None,
    "deleted": lambda path: path.unlink(),
    "garbage": lambda path: path.write_bytes(random.Random(1).randbytes(9000)),
    "of a later version": lambda path: _set_version(path, 99),
}


def _set_version(path: Path, version: int) -> None:
    import sqlite3

    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_session_outlives_the_index(reopened: Open, loss: str) -> None:
    store, sessions = reopened()
    session = saved(store, sessions)
    empty = sessions.create("bob", "")
    store.close()
    for suffix in ("-wal", "-shm"):
        (store.path / f"index.db{suffix}").unlink(missing_ok=True)
    LOSSES[loss](store.path / "index.db")
    store, sessions = reopened()
    found = sessions.get("alice", session.id)
    assert found is not None
    assert (found.title, found.tokens, found.root, found.length) == ("tides", A, ROOT, 10)
    assert sessions.get("bob", session.id) is None
    assert [each.id for each in sessions.all_of("bob")] == [empty.id]
    assert evicts_nothing(store), "its blocks are kept"


def test_its_blocks_are_kept_when_longer_ones_took_their_place(reopened: Open) -> None:
    store, sessions = reopened()
    saved(store, sessions)
    store.put([*A, 11, 12])
    (store.path / "index.db").unlink()
    store, sessions = reopened()
    assert evicts_nothing(store)


def test_a_deleted_session_stays_deleted(reopened: Open) -> None:
    store, sessions = reopened()
    session = saved(store, sessions)
    assert not sessions.delete("bob", session.id)
    assert sessions.delete("alice", session.id)
    assert not sessions.delete("alice", session.id)
    assert session_files(store) == []
    (store.path / "index.db").unlink()
    store, sessions = reopened()
    assert sessions.all_of("alice") == []
    assert not evicts_nothing(store)


def test_what_a_killed_process_left(reopened: Open) -> None:
    """A file that is not in the index yet, and one that the index still lists."""
    store, sessions = reopened()
    kept, lost = sessions.create("alice", "kept"), sessions.create("alice", "lost")
    index = store.store._opened()
    index.run("DELETE FROM session WHERE id = ?", (kept.id,))
    (store.path / "sessions" / file_name(lost.id)).unlink()
    store, sessions = reopened()
    assert [each.title for each in sessions.all_of("alice")] == ["kept"]


@pytest.mark.parametrize("damage", ["a flipped bit", "cut", "empty", "swapped", "no session"])
def test_a_damaged_file_is_no_session(reopened: Open, damage: str) -> None:
    store, sessions = reopened()
    saved(store, sessions)
    sessions.create("alice", "other")
    first, second = session_files(store)
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 1
    contents = {"a flipped bit": bytes(data), "cut": data[:-3], "empty": b"", "swapped": second.read_bytes()}
    first.write_bytes(contents.get(damage, random.Random(2).randbytes(200)))
    (store.path / "index.db").unlink()
    store, sessions = reopened()
    assert len(sessions.all_of("alice")) == 1
    assert len(session_files(store)) == 2, "nobody deletes what may be mended"


def test_a_session_that_cannot_be_written_changes_nothing(
    reopened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, sessions = reopened()
    session = saved(store, sessions)
    with monkeypatch.context() as failing:
        failing.setattr(os, "rename", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "disk full")))
        with pytest.raises(SessionTrouble, match="disk full"):
            sessions.create("alice", "another")
        with pytest.raises(SessionTrouble, match="disk full"):
            sessions.save(session, ROOT, A[:3])
    [found] = sessions.all_of("alice")
    assert found.tokens == A
    assert not list((store.path / "parts").iterdir())


def session_bytes(store: TestStore) -> int:
    """As the index says, which must be what the files say."""
    index = Index(store.path, read_only=True)
    size = index.total().session_bytes
    index.close()
    assert size == sum(path.stat().st_size for path in session_files(store))
    return size


def test_files_of_sessions_count(reopened: Open) -> None:
    store, sessions = reopened()
    session = saved(store, sessions, "x" * 150)
    before = session_bytes(store)
    assert before > 150
    assert sessions.save(session, ROOT, A[:8]) == 8
    assert session_bytes(store) == before - 2 * 4
    sessions.create("bob", "y" * 150)
    assert session_bytes(store) > before + 150
    (store.path / "index.db").unlink()
    store, sessions = reopened()
    assert session_bytes(store) > before + 150
    # As an index from before they counted, and a file that somebody has deleted.
    index = store.store._opened()
    index.run("UPDATE session SET file_bytes = 0")
    (store.path / "sessions" / file_name(sessions.all_of("bob")[0].id)).unlink()
    store, sessions = reopened()
    assert session_bytes(store) == before - 2 * 4
    assert sessions.delete("alice", session.id)
    assert session_bytes(store) == 0


def test_sessions_stay_within_the_limit_and_go_before_what_nobody_keeps(reopened: Open) -> None:
    store, sessions = reopened()
    session = saved(store, sessions)
    other = tuple(range(100, 140))
    store.put(other, 4000)
    limit = store.disk_usage + (3 << 20)
    store.set_limit(limit)

    def fill() -> None:
        for number in range(1000):
            sessions.create(f"owner {number}", "x" * 30_000)

    with pytest.raises(NoRoom, match="max_size_mb"):
        fill()
    assert store.disk_usage <= limit
    assert store.found(other) == 0
    assert store.found(A) == len(A)
    found = sessions.get("alice", session.id)
    assert found is not None
    assert found.tokens == A
    store.set_limit(2 * limit)
    store.store.expire()
    assert store.warnings == []
    store.set_limit(limit // 2)
    for _ in range(2):
        store.store.expire()
    [warning] = store.warnings
    assert "sessions keep more" in warning
    assert store.found(A) == len(A)
    store.set_limit(limit)
    for number in range(3):
        [each] = sessions.all_of(f"owner {number}")
        assert sessions.delete(each.owner, each.id)
    sessions.create("alice", "another")


def test_a_save_that_fails_leaves_what_was_saved(reopened: Open) -> None:
    store, sessions = reopened()
    session = saved(store, sessions)
    for number in range(2):
        store.put([50 + number, 60, 70, 80])
    with pytest.raises(NotStored, match="only 4 of the session's 9"):
        sessions.save(session, ROOT, (1, 2, 3, 4, 90, 91, 92, 93, 94))
    found = sessions.get("alice", session.id)
    assert found is not None
    assert found.tokens == A
    assert evicts_nothing(store)


def test_one_owner_has_so_many_and_no_more(reopened: Open) -> None:
    store, sessions = reopened()
    index: Index = store.store._opened()
    with index.transaction():
        for number in range(MOST_OF_ONE_OWNER):
            index.run(
                "INSERT INTO session (id, owner, title, created, tokens) VALUES (?, 'alice', '', 0, x'')",
                (f"sess_{number}",),
            )
    with pytest.raises(TooManySessions, match="delete some"):
        sessions.create("alice", "")
    assert sessions.create("bob", "").owner == "bob"


def test_names_never_become_paths(reopened: Open) -> None:
    # case 40
    store, sessions = reopened()
    outside = store.path.parent / "x.session"
    outside.write_text("mine")
    for name in ("../x", "/tmp/x", "a/b", "..%2fx", "", ".", "x" * 300, "\0", "SESS_A"):
        assert sessions.get("alice", name) is None
        assert not sessions.delete("alice", name)
        assert "/" not in file_name(name)
    assert outside.read_text() == "mine"


def test_blocks_of_another_size_are_found(reopened: Open, tmp_path: Path) -> None:
    """Sessions that were saved in blocks of another size keep theirs after a rebuild."""
    store, sessions = reopened()
    saved(store, sessions)
    (store.path / "index.db").unlink()
    store, _ = reopened()
    other = Sessions(store.folder, store.store.sessions, 128, store.store.room)
    assert other.all_of("alice")[0].block_tokens == SIZE
    assert evicts_nothing(store)
    assert len(chain(A)) == 3
