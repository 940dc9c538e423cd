"""Disks that are full or read-only: requests are answered, and storing goes on when it can."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from reame_diskkv.store import PAUSE_SECONDS

from plugins.reame_diskkv.tests.driver import plain, request, server, words

LONG = words(100)
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
def test_a_disk_that_fills_up_costs_old_blocks_and_no_new_ones(tmp_path: Path, kilobytes: int) -> None:
    """Wherever it gets full: even the index can say what was evicted only once that is gone."""
    with tmpfs(tmp_path / "small", f"{kilobytes}k") as small, server(small / "kv", residents=0) as each:
        for salt in range(70):
            each.ask(words(120, salt))
        assert each.ask(words(120, 69)).usage.computed == 1
        assert each.counts.evicted
        assert not each.counts.failures


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
