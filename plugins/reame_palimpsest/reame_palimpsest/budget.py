"""The size of an archive on disk, over all tokenizers and tenants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from reame_palimpsest.folders import locked, tokenizer_folders
from reame_palimpsest.log_file import SUFFIX as LOG
from reame_palimpsest.log_file import ForeignFile
from reame_palimpsest.segment_file import SUFFIX as SEGMENT
from reame_palimpsest.segment_file import DamagedFile, read_header
from reame_palimpsest.upkeep import orphan, remove_log


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    size: int
    newest: float
    """Time of its latest generation."""


def keep_within(root: Path, most_bytes: int) -> None:
    """Drop what is oldest, whoever it belongs to, until everything below ``root`` takes at most ``most_bytes``.
    Raises OSError."""
    files = list(_files(root))
    excess = sum(each.size for each in files) - most_bytes
    for each in sorted(files, key=lambda each: each.newest):
        if excess <= 0:
            return
        with suppress(FileNotFoundError), locked(each.path.parent, patience=0) as mine:
            if mine and _remove(each.path):
                excess -= each.size


def _files(root: Path) -> Iterator[_File]:
    for tokenizer in tokenizer_folders(root):
        for tenant in tokenizer.tenants():
            for path in tenant.iterdir():
                if path.suffix in (SEGMENT, LOG):
                    with suppress(FileNotFoundError):
                        stat = path.stat()
                        yield _File(path, stat.st_size, _newest(path) or stat.st_mtime)


def _newest(path: Path) -> int | None:
    if path.suffix != SEGMENT:
        return None
    try:
        with path.open("rb") as file:
            return read_header(file).newest
    except (ForeignFile, DamagedFile):
        return None


def _remove(path: Path) -> bool:
    if path.suffix == SEGMENT:
        path.unlink()
        return True
    with orphan(path) as mine:
        if mine:
            remove_log(path)
        return mine
