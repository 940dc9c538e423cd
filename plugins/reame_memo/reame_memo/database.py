"""The SQLite file of answers: its schema, how it is opened, and what its errors mean."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

from filelock import FileLock

NAME = "answers.db"
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB NOT NULL UNIQUE, tenant BLOB NOT NULL, made REAL NOT NULL, used REAL NOT NULL, value BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS by_use ON answers (used);
CREATE INDEX IF NOT EXISTS by_age ON answers (made);
"""
_PATIENCE_S = 0.25
"""How long to wait for another process that writes."""
_BEGINNING_S = 5.0
"""The same, for one that makes the file."""
_LOG_BYTES = 4_000_000


class Database:
    """One connection to ``path``. Raises OSError, sqlite3.Error. With ``to_write`` the file is made where there
    is none."""

    def __init__(self, path: Path, *, to_write: bool, patience: float = _PATIENCE_S) -> None:
        self.path = path
        if to_write:
            _make_file(path)
        self.inode = path.stat().st_ino
        # Not by a path alone: that would make an empty file where somebody has just removed it.
        uri = f"{path.absolute().as_uri()}?mode=rw"
        self.connection = sqlite3.connect(
            uri, timeout=patience, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            self._prepare(to_write)
        except BaseException:
            self.connection.close()
            raise

    def _prepare(self, to_write: bool) -> None:
        version = self.pragma("user_version")
        if version > _VERSION:
            raise sqlite3.OperationalError(f"it was written by a later version of Reame (schema {version})")
        if to_write and (version < _VERSION or self.pragma("journal_mode") != "wal"):
            self._make_current()
        self.pragma(f"journal_size_limit = {_LOG_BYTES}")
        self.pragma("synchronous = NORMAL")
        # What is forgotten is not to be found in the file.
        self.pragma("secure_delete = ON")
        self.connection.execute("SELECT key, tenant, made, used, value FROM answers LIMIT 0")

    def _make_current(self) -> None:
        # SQLite's own patience does not cover this: of two processes that begin at the same moment one would be
        # told that the file is locked.
        with lock(self.path):
            self.pragma("auto_vacuum = INCREMENTAL")
            self.pragma("journal_mode = WAL")
            self.connection.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;"
            )

    def pragma(self, text: str) -> Any:
        """The first value that it answers, if any."""
        row = self.connection.execute(f"PRAGMA {text}").fetchone()
        return None if row is None else row[0]

    @property
    def is_current(self) -> bool:
        """Whether the file is still the one that was opened: somebody may have removed it."""
        try:
            return self.path.stat().st_ino == self.inode
        except OSError:
            return False

    @property
    def size(self) -> int:
        """Bytes that are in use: pages without anything are filled again."""
        pages = self.pragma("page_count") - self.pragma("freelist_count")
        return int(pages * self.pragma("page_size"))

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self.connection.close()


def remove_ruined(path: Path, inode: int | None) -> None:
    """Remove the file of this ``inode``; one that somebody has made anew meanwhile stays."""
    with contextlib.suppress(OSError), lock(path):
        if path.stat().st_ino == inode:
            for end in ("", "-wal", "-shm"):
                path.with_name(NAME + end).unlink(missing_ok=True)


def lock(path: Path) -> FileLock:
    """For those who make and remove the file."""
    return FileLock(path.with_name(NAME + ".lock"), timeout=_BEGINNING_S, mode=0o600)


def is_ruined(error: Exception) -> bool:
    """Whether it says that the file is torn, or no database."""
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_busy(error: Exception) -> bool:
    """Whether it is another process's turn to write, for longer than we wait."""
    return _code(error) == sqlite3.SQLITE_BUSY


def _code(error: Exception) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _make_file(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        with contextlib.suppress(FileExistsError):
            # SQLite gives its other files the mode of this one. Nobody has it open yet: to close a file takes
            # the locks that SQLite holds on it in this process.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
