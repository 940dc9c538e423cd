"""Which memory is put into large pages."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest

from reame_core.llama import huge_pages
from reame_core.llama.huge_pages import LEAST

MB = 1 << 20


@pytest.mark.parametrize(
    ("before", "after", "added"),
    [
        ([], [(0, LEAST)], [(0, LEAST)]),
        ([], [(0, LEAST - 1)], []),
        ([(0, LEAST)], [(0, LEAST)], []),
        ([(0, MB)], [(0, MB + LEAST)], [(MB, MB + LEAST)]),
        ([(LEAST, LEAST + MB)], [(0, 3 * LEAST)], [(0, LEAST), (LEAST + MB, 3 * LEAST)]),
        ([(0, LEAST)], [], []),
    ],
)
def test_only_what_is_new_and_large_counts(
    before: list[tuple[int, int]], after: list[tuple[int, int]], added: list[tuple[int, int]]
) -> None:
    assert list(huge_pages._added(before, after)) == added


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has these pages")
def test_memory_keeps_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    collapse = huge_pages._collapse

    def spied(start: int, end: int) -> int:
        asked.append((start, end))
        return collapse(start, end)

    monkeypatch.setattr(huge_pages, "_collapse", spied)
    with huge_pages.huge_pages():
        memory = mmap.mmap(-1, 2 * LEAST, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.write(bytes(range(256)) * (2 * LEAST // 256))
    assert any(end - start >= 2 * LEAST for start, end in asked)
    assert memory[:] == bytes(range(256)) * (2 * LEAST // 256)
    memory.close()


def test_where_nothing_is_known_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages._MAPS.__class__, "read_text", _unreadable)
    with huge_pages.huge_pages():
        pass


def _unreadable(*_: object, **__: object) -> str:
    raise PermissionError


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has these pages")
def test_pages_of_a_mapped_file_are_forgotten_and_come_back(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(bytes(range(256)) * (4 * MB // 256))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        assert memory[:] == path.read_bytes()
        before = _resident(path)
        huge_pages.forget_mapped(path.resolve())
        assert _resident(path) < before
        assert memory[:] == path.read_bytes()


def _resident(path: Path) -> int:
    """KB of ``path`` that this process holds."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.endswith(f" {path}"))
    return next(int(line.split()[1]) for line in lines[start:] if line.startswith("Rss:"))
