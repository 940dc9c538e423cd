"""Disks that are full or read-only: requests are answered, and storing goes on when it can."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from reame_diskkv.store import PAUSE_SECONDS

from plugins.reame_diskkv.tests.driver import Server, plain, request, server, words
from plugins.reame_diskkv.tests.far import wait_until

LONG = words(100)


def wait_until_compared(each: Server) -> None:
    """What is on a new server's disk has been looked at: before, nothing is evicted from a full one."""
    wait_until(lambda: each.service.cache.store._compared)


EXPECTED = plain(request(LONG))[0]


@contextmanager
def tmpfs(path: Path, size: str) -> Iterator[Path]:
    """A file system of its own."""
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], capture_output=True)
    if mounted.returncode:
        pytest.skip("no right to mount a file system here")
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


def test_a_full_disk_makes_room_or_pauses_and_recovers(tmp_path: Path) -> None:
    # case 30
    with tmpfs(tmp_path / "small", "2m") as small, server(small / "kv", residents=0) as each:
        wait_until_compared(each)
        for salt in range(60):
            asked = request(words(120, salt))
            assert each.ask(asked.prompt).said == plain(asked)[0]
        assert each.counts.evicted, "the disk is fuller than the budget allows for"
        last = request(words(120, 59))
        assert each.ask(last.prompt).said == plain(last)[0]
        (small / "ballast").write_bytes(bytes(os.statvfs(small).f_bavail * os.statvfs(small).f_bsize))
        for salt in range(70, 73):
            asked = request(words(120, salt))
            assert each.ask(asked.prompt).said == plain(asked)[0]
        (small / "ballast").unlink()
        store = each.service.cache.store
        later = store._clock() + PAUSE_SECONDS + 1
        store._clock = lambda: later
        each.ask(LONG)
        each.forget()
        assert each.ask(LONG).usage.computed == 1


@pytest.mark.parametrize("kilobytes", range(1900, 2100, 25))
@pytest.mark.parametrize("limit_mb", [100, 1.75])
def test_a_disk_that_fills_up_costs_old_blocks_and_no_new_ones(
    tmp_path: Path, kilobytes: int, limit_mb: float
) -> None:
    """Wherever it gets full: even the index can say what was evicted only once that is gone."""
    options = {"max_size_mb": limit_mb}
    with (
        tmpfs(tmp_path / "small", f"{kilobytes}k") as small,
        server(small / "kv", options=options, residents=0) as each,
    ):
        wait_until_compared(each)
        for salt in range(70):
            each.ask(words(120, salt))
        assert each.ask(words(120, 69)).usage.computed == 1
        assert each.counts.evicted
        assert not each.counts.failures["write"]
        assert not each.service.cache.store.paused


def test_files_that_are_gone_already_make_no_room(tmp_path: Path) -> None:
    """As after an attempt whose transaction failed: its files are gone, and the index still lists them."""
    with tmpfs(tmp_path / "small", "2m") as small, server(small / "kv", residents=0) as each:
        wait_until_compared(each)
        for salt in range(40):
            each.ask(words(120, salt))
        store = each.service.cache.store
        files = sorted((small / "kv" / "blocks").glob("*/*"), key=lambda path: path.stat().st_mtime)
        for path in files[: len(files) // 2]:
            path.unlink()
        free = os.statvfs(small)
        (small / "ballast").write_bytes(bytes(free.f_bavail * free.f_bsize))
        prompt = words(120, 99)
        each.ask(prompt)
        assert each.ask(prompt).usage.computed == 1
        assert not store.paused


def test_what_sessions_keep_is_not_evicted_before_the_index_knows_it(tmp_path: Path) -> None:
    with tmpfs(tmp_path / "small", "2m") as small, server(small / "kv", residents=0) as each:
        store = each.service.cache.store
        wait_until_compared(each)
        for salt in range(20):
            each.ask(words(120, salt))
        store._compared = False
        before = set((small / "kv" / "blocks").glob("*/*"))
        free = os.statvfs(small)
        (small / "ballast").write_bytes(bytes(free.f_bavail * free.f_bsize))
        for salt in range(50, 53):
            each.ask(words(120, salt))
        assert before <= set((small / "kv" / "blocks").glob("*/*"))
        assert store.paused
        (small / "ballast").unlink()
        later = store._clock() + PAUSE_SECONDS + 1
        store._clock = lambda: later
        each.service.cache.writer.do(lambda store: store.expire())
        wait_until_compared(each)


def test_a_read_only_disk_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with tmpfs(tmp_path / "disk", "8m") as disk:
        with server(disk / "kv") as first:
            assert first.ask(LONG).said == EXPECTED
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with server(disk / "kv") as each:
            answer = each.ask(LONG)
            assert answer.said == EXPECTED
            assert answer.usage.computed == 1
            other = request(words(40, salt=9))
            assert each.ask(other.prompt).said == plain(other)[0]
        assert len(caplog.records) == 1
        assert "paused" in caplog.text
