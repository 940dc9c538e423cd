"""What goes wrong with a disk, seen by those who ask questions: they get their answers, and nothing wrong."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from reame_diskkv.folder import BlockFolder
from reame_diskkv.store import PAUSE_SECONDS

from plugins.reame_diskkv.tests import filling
from plugins.reame_diskkv.tests.driver import (
    NAMESPACE,
    Server,
    block_files,
    branch,
    plain,
    request,
    server,
    words,
)
from plugins.reame_diskkv.tests.stores import TestStore
from reame_core.testing import FakeBackend

LONG = words(100)
EXPECTED = plain(request(LONG))[0]
RANDOM = np.random.default_rng(5)


def filled(folder: Path) -> None:
    with server(folder) as first:
        assert first.ask(LONG).said == EXPECTED


def check_answers(each: Server) -> None:
    """Unrelated requests are answered as ever."""
    other = request(words(40, salt=9))
    expected = plain(other)[0]
    for _ in range(2):
        assert each.ask(other.prompt).said == expected


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_flipped_bit_anywhere_in_a_block_is_a_miss(tmp_path: Path, share: float) -> None:
    # case 2
    filled(tmp_path)
    damaged = block_files(tmp_path)
    for path in damaged:
        data = bytearray(path.read_bytes())
        data[int(share * len(data))] ^= 1 << int(RANDOM.integers(8))
        path.write_bytes(data)
    with server(tmp_path) as second:
        answer = second.ask(LONG)
        assert answer.said == EXPECTED
        assert answer.usage.computed == 100
        assert second.counts.failures["damaged"] == 1
        check_answers(second)
    with server(tmp_path) as third:
        answer = third.ask(LONG)
        assert answer.said == EXPECTED
        assert answer.restored in (16, 99), "the removed block was stored again"


@pytest.mark.parametrize("place", [0, 3, 6])
@pytest.mark.parametrize("damage", ["cut", "padded", "empty", "gone", "swapped"])
def test_a_damaged_block_ends_the_chain_there(tmp_path: Path, place: int, damage: str) -> None:
    # case 12
    filled(tmp_path)
    by_start = {}
    with sqlite3.connect(tmp_path / "index.db") as connection:
        for key, start in connection.execute("SELECT key, start FROM block"):
            by_start[start // 16] = tmp_path / "blocks" / f"{key[0]:02x}" / f"{key.hex()}.kv"
    connection.close()
    path, other = by_start[place], by_start[(place + 1) % 7]
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        contents = {"cut": data[:-5], "padded": data + bytes(4096), "empty": b"", "swapped": other.read_bytes()}
        path.write_bytes(contents[damage])
    with server(tmp_path) as second:
        answer = second.ask(LONG)
        assert answer.said == EXPECTED
        assert answer.restored == 16 * place
        check_answers(second)
    with server(tmp_path) as third:
        answer = third.ask(LONG)
        assert answer.said == EXPECTED
        assert answer.usage.computed == 1, "mended by the second run"


def test_blocks_that_a_backend_refuses_are_removed(tmp_path: Path) -> None:
    filled(tmp_path)
    with server(tmp_path) as second:
        second.backend.import_range = lambda *arguments: False
        answer = second.ask(LONG)
        assert answer.said == EXPECTED
        assert answer.restored == 0
        assert second.counts.failures["refused"] == 1
        check_answers(second)


@pytest.mark.parametrize("what", ["deleted", "garbage", "a folder", "of a later version"])
def test_an_index_that_is_lost_while_nobody_runs(
    tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    # case 28
    filled(tmp_path)
    index = tmp_path / "index.db"
    if what == "of a later version":
        with sqlite3.connect(index) as connection:
            connection.execute("PRAGMA user_version = 7")
        connection.close()
    else:
        index.unlink()
        if what == "garbage":
            index.write_bytes(RANDOM.bytes(20_000))
        elif what == "a folder":
            index.mkdir()
    with server(tmp_path) as second:
        second.service.cache.writer.flush(60)
        while not second.service.cache.store.swept:
            second.service.cache.writer.flush(60)
        answer = second.ask(LONG)
        assert answer.said == EXPECTED
        assert answer.usage.computed == 1
    assert len(caplog.records) == (0 if what == "deleted" else 1)


def test_an_index_that_breaks_while_it_is_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with server(tmp_path) as first:
        for salt in range(12):
            first.ask(words(100, salt))
    index = tmp_path / "index.db"
    data = bytearray(index.read_bytes())
    data[4096 * 3 :] = RANDOM.bytes(len(data) - 4096 * 3)
    index.write_bytes(data)
    with server(tmp_path) as second:
        for _ in range(3):
            for salt in range(12):
                asked = request(words(100, salt))
                assert second.ask(asked.prompt).said == plain(asked)[0]
        while not second.service.cache.store.swept:
            second.flush()
        second.forget()
        assert second.ask(words(100, 3)).usage.computed == 1
    assert "found again by their files" in caplog.text or "made anew" in caplog.text


def test_two_servers_on_one_folder(tmp_path: Path) -> None:
    with server(tmp_path) as first, server(tmp_path) as second:
        first.ask(LONG)
        answer = second.ask(LONG)
        assert answer.said == EXPECTED
        assert answer.usage.computed == 1
        more = branch(LONG, 70, 140)
        second.ask(more)
        answer = first.ask(more)
        assert answer.said == plain(request(more))[0]
        assert answer.usage.reused == {"ram": 70, "diskkv": 69}


def test_processes_that_fill_a_new_folder_at_the_same_time(tmp_path: Path) -> None:
    # case 37
    program = Path(filling.__file__)
    environment = {**os.environ, "PYTHONPATH": str(program.parents[3])}
    processes = [
        subprocess.Popen(
            [sys.executable, program, tmp_path, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    store = TestStore(tmp_path)
    for number in range(filling.PROMPTS):
        for process_number in range(3):
            assert store.found(filling.prompt(number, process_number)) == 12
    shared = filling.PROMPTS // 3
    assert len(store.files) == 2 + shared + 3 * (filling.PROMPTS - shared)
    store.check()
    store.close()


def test_blocks_that_another_process_evicts_meanwhile(tmp_path: Path) -> None:
    filled(tmp_path)
    with server(tmp_path) as second:
        second.ask(words(30))
        shutil.rmtree(tmp_path / "blocks" / block_files(tmp_path)[3].parent.name)
        second.forget()
        answer = second.ask(LONG)
        assert answer.said == EXPECTED
        check_answers(second)


@pytest.mark.parametrize("size", [0, 0.0005, 0.02])
def test_no_budget_to_speak_of(tmp_path: Path, size: float) -> None:
    for _ in range(2):
        with server(tmp_path, options={"max_size_mb": size}) as each:
            assert each.ask(LONG).said == EXPECTED
            check_answers(each)
    assert block_files(tmp_path) == []


def test_eviction_while_everybody_asks(tmp_path: Path) -> None:
    """A budget for about two of eight prompts: whatever is gone when it is looked for, answers are right."""
    prompts = [words(100, salt) for salt in range(8)]
    expected = [plain(request(prompt))[0] for prompt in prompts]
    with server(tmp_path, options={"max_size_mb": 0.8}, residents=0) as small:
        for _ in range(3):
            for prompt, said in zip(prompts, expected, strict=True):
                assert small.ask(prompt).said == said
        assert small.counts.written_blocks > 50
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 800_000


def test_a_disk_that_fails_is_told_of_once_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    with server(tmp_path) as each:
        store = each.service.cache.store
        monkeypatch.setattr(store, "_clock", lambda: now)
        with monkeypatch.context() as failing:
            failing.setattr(BlockFolder, "write", lambda *_: (_ for _ in ()).throw(OSError(5, "it is broken")))
            for salt in range(5):
                asked = request(words(60, salt))
                assert each.ask(asked.prompt).said == plain(asked)[0]
            now += PAUSE_SECONDS + 1
            each.ask(words(60, 5))
            assert each.counts.failures["write"] == 2
        assert len([record for record in caplog.records if "it is broken" in record.message]) == 1
        each.ask(words(60, 6))
        assert block_files(tmp_path) == []
        now += PAUSE_SECONDS + 1
        each.ask(LONG)
        assert block_files(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    with server(tmp_path / "file" / "kv") as each:
        assert each.ask(LONG).said == EXPECTED
    assert "the disk cache is off" in caplog.text


def test_a_writer_that_is_too_slow_drops_blocks_and_delays_nobody(tmp_path: Path) -> None:
    with server(tmp_path, options={"queue_mb": 1}) as each:
        each.service.cache.writer._queue_bytes = 1000
        answer = each.ask(LONG)
        assert answer.said == EXPECTED
        assert each.counts.dropped
        assert each.ask(LONG).said == EXPECTED
    with server(tmp_path) as second:
        assert second.ask(LONG).said == EXPECTED


def test_another_model_under_the_same_options(tmp_path: Path) -> None:
    # case 10: what identifies a model is its contents, which the core puts into the namespace
    filled(tmp_path)
    with server(tmp_path, namespace={**NAMESPACE, "model": "0" * 32}) as other:
        answer = other.ask(LONG)
        assert answer.usage.computed == 100


def test_a_block_that_is_being_written_is_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # case 19
    held, writing = threading.Event(), threading.Event()
    write = BlockFolder.write

    def slow(folder: BlockFolder, *arguments: object) -> int:
        writing.set()
        assert held.wait(60)
        return write(folder, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(BlockFolder, "write", slow)
    with server(tmp_path) as first, server(tmp_path) as second:
        first.play(request(LONG))
        assert writing.wait(60)
        for each in (first, second):
            each.forget()
            [[answer]] = each.play(request(LONG))
            assert answer.said == EXPECTED
            assert answer.usage.computed == 100
        held.set()
        first.flush()
        first.forget()
        assert first.ask(LONG).usage.computed == 1


def test_many_conversations_in_little_memory_keep_their_facts(tmp_path: Path) -> None:
    # case 18
    prompts = [branch(LONG, 40, 90, salt) for salt in range(10)]
    expected = [plain(request(prompt))[0] for prompt in prompts]
    for round_ in range(2):
        with server(tmp_path, backend=FakeBackend(cells=220), context_length=110, residents=1) as each:
            for _ in range(2):
                for prompt, said in zip(prompts, expected, strict=True):
                    assert each.ask(prompt).said == said
            assert each.counts.hits >= 10 + 10 * round_ - 1
