"""The files of a cache."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def block_files(folder: Path) -> Iterator[Path]:
    return (folder / "blocks").glob("*/*.kv")


def drop_from_page_cache(folder: Path) -> None:
    """The blocks come from the disk again."""
    for path in block_files(folder):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bytes_on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in block_files(folder))
