"""The store: chains, limits, what goes first, and what other processes and crashes leave."""

from __future__ import annotations

import fcntl
import os
import random
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from reame_diskkv.folder import BlockFolder
from reame_diskkv.room import INDEX_GROWTH

from plugins.reame_diskkv.tests.stores import ROOT, SIZE, TestStore, chain

A = list(range(1, 11))
"""Two whole blocks and half of a third."""

Make = Callable[..., TestStore]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[TestStore] = []

    def make(*arguments: object, path: Path = tmp_path, **options: object) -> TestStore:
        made.append(TestStore(path, *arguments, **options))
        return made[-1]

    yield make
    for store in made:
        store.close()


def test_what_is_stored_is_found(make: Make) -> None:
    store = make()
    assert store.put(A)
    assert store.found(A) == 10
    assert store.found([*A, 11, 12]) == 10
    assert store.found(A[:7]) == 7
    assert store.found([*A[:6], 99, 98]) == 6
    assert store.found([99]) == 0
    store.check()


def test_neighbours_in_the_order_of_tokens(make: Make) -> None:
    store = make()
    for last in (100, 300, 70_000, 2):
        store.put([1, 2, 3, last])
    for tokens, length in [([1, 2, 3, 300], 4), ([1, 2, 3, 299], 3), ([1, 2, 4], 2), ([0], 0), ([9], 0)]:
        assert store.found(tokens) == length


def test_longer_ends_replace_shorter_ones(make: Make) -> None:
    store = make()
    store.put(A[:5])
    store.put(A[:6])
    assert len(store.files) == 2
    store.put(A[:5])
    assert len(store.files) == 2, "the longer one holds it already"
    store.put([*A[:5], 99])
    assert len(store.files) == 3
    store.put(A[:8])
    assert len(store.files) == 3
    assert store.found(A[:6]) == 6
    assert store.found([*A[:5], 99]) == 6


def test_another_process_finds_it(make: Make, tmp_path: Path) -> None:
    first, second = make(), make()
    first.put(A)
    assert second.found(A) == 10
    second.put([*A[:8], 50, 51])
    assert first.found([*A[:8], 50, 51]) == 10
    first.put(A)
    assert first.check() == second.check()


def test_the_budget_holds_and_ends_of_chains_go_first(make: Make) -> None:
    store = make()
    store.put(A, 300_000)
    store.put([*A[:4], 50, 51, 52, 53], 300_000)
    size = max(store.files.values())
    store.set_limit(store.disk_usage + INDEX_GROWTH + size // 2)
    store.use(A)
    store.put([60, 61, 62, 63], 300_000)
    assert store.disk_usage <= store.store.room.limits.max_bytes
    assert store.found([*A[:4], 50]) == 4, "was not used for longest"
    assert store.found(A) == 10
    assert store.found([60, 61, 62, 63]) == 4
    store.check()


def test_a_parent_is_as_recently_used_as_its_last_child(make: Make) -> None:
    store = make()
    store.put(A[:4], 3000)
    store.put([70, 71, 72, 73], 3000)
    store.put(A[:8], 3000)
    store.use(A[:8])
    store.store.room.evict(store.store._opened(), 1, b"")
    assert store.found([70]) == 0
    store.store.room.evict(store.store._opened(), 1, b"")
    assert store.found(A) == 4


def test_what_earlier_runs_left_counts(make: Make) -> None:
    # case 32
    limit = 5_000_000
    first = make(limit)
    for start in range(0, 180, 4):
        first.put(range(start * 10, start * 10 + 4), 100_000)
    first.close()
    second = make(limit)
    second.sweep()
    for start in range(1000, 1200, 4):
        second.put(range(start * 10, start * 10 + 4), 100_000)
        assert second.disk_usage <= limit
    assert second.counts.evicted
    assert second.check() > 0.8 * limit


def test_an_interrupted_chain_is_not_continued(make: Make) -> None:
    store = make()
    blocks = chain(A)
    assert not store.store.put(blocks[1], b"x" * 100)
    assert store.files == {}
    assert store.counts.dropped == 1


def test_no_room_at_all(make: Make) -> None:
    store = make(1000)
    assert not store.put(A)
    assert store.files == {}
    assert store.counts.too_large == 1


def test_a_budget_for_less_than_a_chain_keeps_its_beginning(make: Make) -> None:
    store = make()
    store.put([90, 91, 92, 93], 300_000)
    [size] = store.files.values()
    store.set_limit(store.disk_usage + INDEX_GROWTH + size * 3 // 2)
    store.put(range(100, 140), 300_000)
    assert store.found(range(100, 140)) == 8, "what would come next has no room, and nothing else may go"
    assert store.counts.too_large == 1
    store.check()


def test_pinned_blocks_stay(make: Make) -> None:
    store = make()
    store.put(A[:8], 3000)
    index = store.store._opened()
    with index.transaction():
        index.run("INSERT INTO pin VALUES ('session', ?)", (chain(A[:8])[-1].key,))
    store.put([80, 81, 82, 83], 3000)
    assert not store.store.room.evict(index, 10**9, b"")
    assert store.found(A[:8]) == 8
    assert store.found([80]) == 0
    with index.transaction():
        index.run("DELETE FROM pin")
    store.store.room.evict(index, 10**9, b"")
    assert store.files == {}


def test_a_pin_moves_to_the_block_that_replaces_its_own(make: Make) -> None:
    store = make()
    store.put(A[:6])
    index = store.store._opened()
    with index.transaction():
        index.run("INSERT INTO pin VALUES ('session', ?)", (chain(A[:6])[-1].key,))
    store.put(A[:8])
    assert not store.store.room.evict(index, 10**9, b"")
    assert store.found(A[:6]) == 6


def test_what_was_not_used_for_long_expires(make: Make) -> None:
    store = make(ttl=1000.0)
    store.put(A)
    store.put([50, 51])
    store.wall.now += 900
    store.use(A)
    store.wall.now += 200
    store.store.expire()
    assert store.found([50]) == 0
    assert store.found(A) == 10
    store.wall.now += 1000
    store.store.expire()
    assert store.files == {}
    assert store.counts.expired == 4


def test_a_clock_that_runs_backwards(make: Make) -> None:
    store = make(ttl=1000.0)
    store.put([70, 71], 3000)
    store.wall.now -= 500_000
    store.put([50, 51], 3000)
    store.put([60, 61], 3000)
    store.use([50, 51])
    store.store.expire()
    assert len(store.files) == 3
    for gone in ([70, 71], [60, 61], [50, 51]):
        assert store.found(gone)
        store.store.room.evict(store.store._opened(), 1, b"")
        assert not store.found(gone)


def test_only_the_owner_can_read(make: Make, tmp_path: Path) -> None:
    (tmp_path / "kv").mkdir(mode=0o755)
    (tmp_path / "kv").chmod(0o755)
    store = make(path=tmp_path / "kv")
    store.put(A)
    for path in [store.path, *store.path.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_links_are_not_followed_and_foreign_files_not_touched(make: Make, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    treasure = outside / "treasure.kv"
    treasure.write_text("mine")
    store = make(path=tmp_path / "kv")
    store.put(A)
    key = chain(A)[0].key
    shard = store.path / "blocks" / f"{key[0]:02x}"
    link = shard / f"{key[0]:02x}{'0' * 38}.kv"
    link.symlink_to(treasure)
    (shard / "notes.txt").write_text("also mine")
    (shard / f"{key.hex()}.kv").unlink()
    (shard / f"{key.hex()}.kv").symlink_to(treasure)
    store.store._next_shard = 0
    store.sweep()
    assert store.found(A) == 0
    assert treasure.read_text() == "mine"
    assert (shard / "notes.txt").exists()
    assert link.is_symlink()
    with pytest.raises(OSError):
        store.folder.read_beginning(key, 100)
    for other in range(256):
        if not (store.path / "blocks" / f"{other:02x}").exists():
            (store.path / "blocks" / f"{other:02x}").symlink_to(outside)
    for start in range(500, 700, 4):
        store.put(range(start, start + 4))
    assert sorted(path.name for path in outside.iterdir()) == ["treasure.kv"]


def test_a_folder_that_is_a_link_works(make: Make, tmp_path: Path) -> None:
    # case 39
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = make(path=tmp_path / "link")
    store.put(A)
    assert store.found(A) == 10
    assert len(list((tmp_path / "real" / "blocks").glob("*/*.kv"))) == 3


def test_folders_stay_small(make: Make) -> None:
    # case 33
    store = make()
    for start in range(0, 2000, 4):
        store.put(range(start * 10, start * 10 + 4), 20)
    sizes = [len(list(shard.iterdir())) for shard in (store.path / "blocks").iterdir()]
    assert sum(sizes) == 500
    assert max(sizes) < 16


def test_an_interrupted_write_leaves_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    # case 29
    store = make()
    store.put(A[:4])
    monkeypatch.setattr(os, "rename", lambda *_, **__: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    assert not store.put(A)
    monkeypatch.undo()
    assert len(store.files) == 1
    assert not list((store.path / "parts").iterdir())
    assert store.found(A) == 4
    assert len(store.warnings) == 1
    assert "Input/output error" in store.warnings[0]
    store.clock.now += 31
    assert store.put(A)
    assert store.found(A) == 10


def test_parts_of_dead_writers_are_removed_and_those_of_living_ones_not(make: Make) -> None:
    store = make()
    parts = store.path / "parts"
    (parts / ("0" * 16 + ".part")).write_bytes(b"half a block")
    (parts / "mine.txt").write_text("mine")
    living = os.open(parts / ("1" * 16 + ".part"), os.O_CREAT | os.O_WRONLY)
    fcntl.flock(living, fcntl.LOCK_EX)
    store.sweep()
    assert sorted(path.name for path in parts.iterdir()) == ["1" * 16 + ".part", "mine.txt"]
    os.close(living)


def test_a_part_that_is_removed_before_it_is_held_is_written_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another process, which takes it for one that a dead process left."""
    store, other = make(), make()
    flock, removed = fcntl.flock, []

    def late(descriptor: int, how: int) -> None:
        if not removed and any((store.path / "parts").iterdir()):
            removed.append(True)
            other.store.folder.remove_stale_parts()
        flock(descriptor, how)

    monkeypatch.setattr("reame_diskkv.folder.fcntl.flock", late)
    assert store.put(A)
    assert removed
    assert store.found(A) == len(A)
    assert not list((store.path / "parts").iterdir())


def test_rows_without_files_and_files_without_rows(make: Make) -> None:
    store = make()
    store.put(A)
    store.put([50, 51, 52, 53])
    (store.path / "blocks" / f"{chain(A)[2].key[0]:02x}" / f"{chain(A)[2].key.hex()}.kv").unlink()
    store.store._opened().remove([chain([50, 51, 52, 53])[0].key])
    store.store._next_shard = 0
    store.sweep()
    assert store.found(A) == 8
    assert store.found([50, 51, 52, 53]) == 4
    store.check()


@pytest.mark.parametrize("damage", [b"", b"reameKV\n", random.Random(1).randbytes(3000)])
def test_damaged_files_are_removed_when_they_are_found_without_a_row(make: Make, damage: bytes) -> None:
    store = make()
    store.put(A)
    key = chain(A)[1].key
    (store.path / "blocks" / f"{key[0]:02x}" / f"{key.hex()}.kv").write_bytes(damage)
    store.store._next_shard = 0
    store.sweep()
    assert store.found(A) == 4
    assert key.hex() + ".kv" not in store.files
    assert store.put(A)
    assert store.found(A) == 10


def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder of another user")
    (tmp_path / "kv").mkdir()
    os.chown(tmp_path / "kv", 12345, 12345)
    with pytest.raises(PermissionError, match="another user"):
        BlockFolder(tmp_path / "kv")


def test_roots_are_parents_of_first_blocks() -> None:
    assert [block.start for block in chain(A)] == [0, SIZE, 2 * SIZE]
    assert chain(A)[0].parent == ROOT
