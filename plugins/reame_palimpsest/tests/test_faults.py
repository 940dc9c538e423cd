from __future__ import annotations

import errno
import logging
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from reame_palimpsest import folders, log_file
from reame_palimpsest.log_file import log_header, new_name

from plugins.reame_palimpsest.tests.shelves import Clock, has, kinds, shelf, small
from plugins.reame_palimpsest.tests.support import TOKENIZER, random_generations

SOME = random_generations(8)
MANY = random_generations(400, seed=5)
ROOT = Path(__file__).parents[3]
NOISE = random.Random(1).randbytes(4096)


def filled(folder: Path, files: int = 2) -> list[Path]:
    """Segments with the generations of ``SOME``, the oldest first."""
    for number in range(files):
        opened = shelf(folder)
        for each in SOME[number::files]:
            opened.add(each)
        opened._limits = opened._limits.of(1e-9, None)
        opened.seal()
    return sorted(folder.glob("*.seg"))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.parametrize("damage", ["flip", "cut", "empty body"])
def test_a_damaged_segment_costs_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str) -> None:
    victim, *rest = filled(tmp_path)
    whole = victim.read_bytes()
    victim.write_bytes(
        {
            "flip": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
            "cut": whole[:-40],
            "empty body": whole[:64],
        }[damage]
    )
    opened = shelf(tmp_path)
    opened.refresh()
    assert len(opened.view.segments) == 1
    [warning] = warnings(caplog)
    assert str(victim) in warning
    assert "removed" in warning
    assert not victim.exists()
    assert sum(has(opened, each) for each in SOME) == opened.view.segments[0].generation_count
    assert rest


@pytest.mark.parametrize("suffix", [".seg", ".log"])
@pytest.mark.parametrize("content", [b"", b"garbage" * 99, NOISE, b"RPALSEG1", b"RPALLOG1"])
def test_garbage_is_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, suffix: str, content: bytes
) -> None:
    filled(tmp_path)
    (tmp_path / new_name(suffix)).write_bytes(content)
    opened = shelf(tmp_path)
    for _ in range(3):
        opened.refresh()
        opened.tidy()
    assert all(has(opened, each) for each in SOME)
    assert len(warnings(caplog)) <= 1
    again = shelf(tmp_path)
    assert again.add(MANY[0])
    assert has(again, MANY[0])


def test_another_tokenizers_files_are_never_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = TOKENIZER[::-1]
    for path in filled(tmp_path):
        content = bytearray(path.read_bytes())
        content[8:24] = bytes.fromhex(other)
        path.write_bytes(content)
    opened = shelf(tmp_path)
    assert not any(has(opened, each) for each in SOME)
    writer = shelf(tmp_path)
    writer.add(MANY[0])
    [log] = tmp_path.glob("*.log")
    log.write_bytes(log_header(other) + log.read_bytes()[len(log_header(other)) :])
    opened.refresh()
    assert not has(opened, MANY[0])
    assert len(warnings(caplog)) == len(set(warnings(caplog)))


@pytest.mark.parametrize("cut", [1, 4, 33, 100])
def test_a_torn_log_loses_its_last_generation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, cut: int
) -> None:
    dead = shelf(tmp_path)
    for each in SOME:
        dead.add(each)
    assert dead._log is not None
    dead._log.close()
    [log] = tmp_path.glob("*.log")
    log.write_bytes(log.read_bytes()[:-cut])
    heir = shelf(tmp_path)
    assert [has(heir, each) for each in SOME] == [True] * 7 + [False]
    assert len(warnings(caplog)) == 1
    assert kinds(tmp_path) == {".seg": 1, ".log": 0}


def test_a_damaged_log_of_a_living_process(tmp_path: Path) -> None:
    writer, reader = shelf(tmp_path), shelf(tmp_path)
    for each in SOME[:4]:
        writer.add(each)
    [log] = tmp_path.glob("*.log")
    content = bytearray(log.read_bytes())
    content[60] ^= 1
    log.write_bytes(content)
    reader.refresh()
    writer.add(SOME[4])
    reader.refresh()
    assert [has(reader, each) for each in SOME[:5]] == [False, True, True, True, True]


class TestRefusingDisk:
    def test_a_folder_that_cannot_be_made(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (tmp_path / "file").write_text("in the way")
        opened = small(tmp_path / "file" / "folder")
        for each in MANY:
            opened.add(each)
            opened.refresh()
        opened.close()
        assert has(opened, MANY[0])
        assert len(warnings(caplog)) <= 3, "each of writing, sealing and reading complains once"

    def test_memory_does_not_grow_without_a_disk(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        opened = small(tmp_path / "file" / "folder")
        for each in MANY:
            opened.add(each)
        assert opened._tail.words < 10 * opened._limits.live_words

    def test_a_full_disk_takes_half_a_frame(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        opened = shelf(tmp_path)
        opened.add(SOME[0])
        write, full = os.write, True

        def stingy(descriptor: int, data: bytes) -> int:
            if not full:
                return write(descriptor, data)
            if len(data) > 50:
                return write(descriptor, data[:50])
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(log_file.os, "write", stingy)
        opened.add(SOME[1])
        opened.add(SOME[2])
        full = False
        opened.add(SOME[3])
        assert all(has(opened, each) for each in SOME[:4]), "in memory nothing is missing"
        other = shelf(tmp_path)
        assert [has(other, each) for each in SOME[:4]] == [True, False, False, True]
        assert len(warnings(caplog)) == 1
        assert "No space left" in warnings(caplog)[0]

    def test_sealing_is_tried_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = Clock()
        opened = small(tmp_path, clock)
        fsync = os.fsync

        def refuse(descriptor: int) -> None:
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(folders.os, "fsync", refuse)
        for each in MANY[:60]:
            opened.add(each)
        assert kinds(tmp_path) == {".seg": 0, ".log": 1}
        monkeypatch.setattr(folders.os, "fsync", fsync)
        clock.now += 61
        opened.add(MANY[60])
        assert kinds(tmp_path)[".seg"] >= 1
        assert all(has(opened, each) for each in MANY[:61])
        opened.close()
        assert all(has(shelf(tmp_path), each) for each in MANY[:61])

    def test_somebody_else_keeps_the_lock(self, tmp_path: Path) -> None:
        opened = shelf(tmp_path)
        opened.add(SOME[0])
        with folders.locked(tmp_path) as mine:
            assert mine
            opened.seal()
            opened.tidy()
        assert kinds(tmp_path) == {".seg": 0, ".log": 1}
        opened.seal()
        assert kinds(tmp_path) == {".seg": 1, ".log": 0}


WRITER = """
import sys, time
from pathlib import Path
from plugins.reame_palimpsest.tests.shelves import small
from plugins.reame_palimpsest.tests.support import random_generations
opened = small(Path(sys.argv[1]))
for number, each in enumerate(random_generations(400, seed=5)):
    opened.add(each)
    print(number, flush=True)
time.sleep(600)
"""


def test_kill_9_at_any_moment_loses_nothing_that_was_archived(tmp_path: Path) -> None:
    moments = random.Random(1)
    for _ in range(4):
        last = -1
        wanted = moments.randrange(5, 300)
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                last = int(line)
                if last >= wanted:
                    process.send_signal(signal.SIGKILL)
                    break
        assert process.returncode == -signal.SIGKILL
        opened = shelf(tmp_path)
        assert all(has(opened, each) for each in MANY[: last + 1])
        assert not list(tmp_path.glob("*.log"))
        opened.close()


LIMITED = """
import resource, signal, sys
from pathlib import Path
from plugins.reame_palimpsest.tests.shelves import has, small
from plugins.reame_palimpsest.tests.support import random_generations
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
opened = small(Path(sys.argv[1]))
some = random_generations(40, seed=5)
for each in some:
    opened.add(each)
assert all(has(opened, each) for each in some)
opened.close()
"""


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.count("cannot archive") == 1
    opened = shelf(tmp_path)
    assert 0 < sum(has(opened, each) for each in MANY[:40]) < 40
