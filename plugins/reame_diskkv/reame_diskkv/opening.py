"""Opening the index of a folder, whatever is found in its place."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from reame_diskkv.index import NAME, Index, IndexBroken, IndexUnusable


def open_index(
    folder: Path, warn: Callable[[str], None], *, read_only: bool = False, patience: float = 10.0
) -> Index:
    """The index of ``folder``, a new one where there is none. One that is broken is set aside, with a warning;
    the blocks are found again by their files. Raises IndexUnusable."""
    path = folder / NAME
    if not read_only:
        _create(path)
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise IndexBroken("it is no file")
        return Index(folder, read_only=read_only, patience=patience)
    except IndexBroken as reason:
        if read_only:
            raise IndexUnusable(str(reason)) from None
        set_aside(folder)
        warn(
            f"the index {path} cannot be used ({reason}): it was renamed to {NAME}.unusable, and the blocks "
            "are found again by their files"
        )
    _create(path)
    try:
        return Index(folder, patience=patience)
    except IndexBroken as reason:
        raise IndexUnusable(str(reason)) from None


def set_aside(folder: Path) -> None:
    """Rename a broken index, in the place of an earlier one. Raises IndexUnusable."""
    path, other = folder / NAME, folder / f"{NAME}.unusable"
    try:
        if other.is_dir() and not other.is_symlink():
            other.rename(folder / f"{NAME}.unusable.{time.time_ns()}")
        path.replace(other)
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    except FileNotFoundError:
        return
    except OSError as error:
        raise IndexUnusable(f"{path} cannot be renamed: {error.strerror}") from error


def _create(path: Path) -> None:
    """So that only its owner can read it; SQLite gives its other files the same mode."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
