"""The index: which blocks there are. One connection, for one thread; several processes may have one each.

Errors of SQLite come out as ``IndexUnusable`` (not now: locked, full, read-only) or ``IndexBroken`` (never
again: it has to be set aside and made anew).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from reame_diskkv.block_file import Block
from reame_diskkv.schema import VERSION, migrations

NAME = "index.db"
_COLUMNS = "key, root, parent, start, tokens, raw_bytes, file_bytes, used, pins"


class IndexUnusable(Exception):
    """The index cannot be used at the moment."""

    disk_full = False


class IndexBroken(Exception):
    """The file is no index of this version."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A block that is stored."""

    key: bytes
    block: Block
    raw_bytes: int
    file_bytes: int
    used: float
    pins: int


@dataclass(frozen=True, slots=True)
class Total:
    """All blocks together, and all sessions."""

    blocks: int
    raw_bytes: int
    file_bytes: int
    session_bytes: int
    """Of the files of sessions."""

    @property
    def on_disk(self) -> int:
        """Bytes of all files but the index."""
        return self.file_bytes + self.session_bytes


class Index:
    """See the module's docstring. ``patience`` is how many seconds to wait for other writers."""

    def __init__(self, folder: Path, *, read_only: bool = False, patience: float = 10.0) -> None:
        self._path = folder / NAME
        self._connection = _connect(self._path, read_only, patience)
        self._identity = 0
        try:
            with _errors():
                self._prepare(read_only)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, read_only: bool) -> None:
        version = self._pragma("user_version")
        if version > VERSION:
            raise IndexBroken(f"it was written by a later version of Reame (schema {version})")
        if not read_only:
            if version < VERSION or self._pragma("journal_mode") != "wal":
                self._make_current()
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("PRAGMA wal_autocheckpoint = 128")
        elif os.access(self._path.parent, os.W_OK):
            self._connection.execute("PRAGMA query_only = ON")
        self._connection.execute("SELECT session_bytes FROM total").fetchone()
        self._identity = self._path.stat().st_ino

    def _make_current(self) -> None:
        # SQLite's own patience does not cover what happens here: of two processes that begin at the same moment
        # one would be told that the database is locked.
        with _alone(self._path):
            self._connection.execute("PRAGMA journal_mode = WAL")
            if self._pragma("user_version") < VERSION:
                migrations.apply(self.database)
                self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _pragma(self, name: str) -> Any:
        return self._connection.execute(f"PRAGMA {name}").fetchone()[0]

    @property
    def database(self) -> Database:
        """For reports."""
        return Database(self._connection, execute_plugins=False)

    @property
    def is_current(self) -> bool:
        """Whether the file is still the one that was opened: another process may have set it aside."""
        try:
            return self._path.stat().st_ino == self._identity
        except OSError:
            return False

    @property
    def own_bytes(self) -> int:
        """Bytes of the index itself."""
        size = 0
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                size += os.stat(f"{self._path}{suffix}").st_size  # noqa: PTH116
        return size

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    # Looking up

    def by_key(self, key: bytes) -> Entry | None:
        return self._entry("WHERE key = ?", key)

    def before(self, parent: bytes, tokens: bytes) -> Entry | None:
        """The block behind ``parent`` with the greatest tokens up to and including ``tokens``."""
        return self._entry("WHERE parent = ? AND tokens <= ? ORDER BY tokens DESC LIMIT 1", parent, tokens)

    def after(self, parent: bytes, tokens: bytes) -> Entry | None:
        """The block behind ``parent`` with the smallest tokens from ``tokens`` on."""
        return self._entry("WHERE parent = ? AND tokens >= ? ORDER BY tokens LIMIT 1", parent, tokens)

    def covering(self, parent: bytes, tokens: bytes) -> Entry | None:
        """A block behind ``parent`` that begins with ``tokens``."""
        entry = self.after(parent, tokens)
        return entry if entry is not None and entry.block.tokens.startswith(tokens) else None

    def total(self) -> Total:
        with _errors():
            columns = "blocks, raw_bytes, file_bytes, session_bytes"
            return Total(*self._connection.execute(f"SELECT {columns} FROM total").fetchone())

    def leaves(self, most: int) -> list[Entry]:
        """Blocks that may be evicted, the first one first."""
        return self._entries("WHERE children = 0 AND pins = 0 ORDER BY used LIMIT ?", most)

    def leaves_unused_since(self, moment: float, most: int) -> list[Entry]:
        return self._entries("WHERE children = 0 AND pins = 0 AND used < ? ORDER BY used LIMIT ?", moment, most)

    def shard(self, number: int) -> dict[bytes, int]:
        """{key: bytes} of all blocks whose key begins with this byte."""
        last = bytes([number]) + b"\xff" * 20
        with _errors():
            found = self._connection.execute(
                "SELECT key, file_bytes FROM block WHERE key >= ? AND key <= ?", (bytes([number]), last)
            )
            return dict(found.fetchall())

    def latest_stamp(self) -> float:
        """The newest stamp of a block that could be evicted; 0 without one."""
        with _errors():
            row = self._connection.execute(
                "SELECT used FROM block WHERE children = 0 AND pins = 0 ORDER BY used DESC LIMIT 1"
            ).fetchone()
        return float(row[0]) if row else 0.0

    def _entry(self, condition: str, *values: Any) -> Entry | None:
        with _errors():
            row = self._connection.execute(f"SELECT {_COLUMNS} FROM block {condition}", values).fetchone()
        return _entry_of(row) if row else None

    def _entries(self, condition: str, *values: Any) -> list[Entry]:
        with _errors():
            rows = self._connection.execute(f"SELECT {_COLUMNS} FROM block {condition}", values).fetchall()
        return [_entry_of(row) for row in rows]

    # Changing

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing of what is changed inside."""
        with _errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def add(self, block: Block, raw_bytes: int, file_bytes: int, stamp: float) -> None:
        """A block has been stored, or stored again."""
        with _errors():
            self._connection.execute(
                "INSERT INTO block (key, root, parent, start, tokens, raw_bytes, file_bytes, created, used) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
                "raw_bytes = excluded.raw_bytes, file_bytes = excluded.file_bytes, used = excluded.used",
                (
                    block.key,
                    block.root,
                    block.parent,
                    block.start,
                    block.tokens,
                    raw_bytes,
                    file_bytes,
                    time.time(),
                    stamp,
                ),
            )

    def remove(self, keys: Iterable[bytes]) -> None:
        with _errors():
            self._connection.executemany("DELETE FROM block WHERE key = ?", ((key,) for key in keys))

    def resize(self, key: bytes, file_bytes: int) -> None:
        with _errors():
            self._connection.execute("UPDATE block SET file_bytes = ? WHERE key = ?", (file_bytes, key))

    def stamp(self, stamps: Iterable[tuple[bytes, float]]) -> None:
        """Remember when blocks were used."""
        with _errors():
            self._connection.executemany(
                "UPDATE block SET used = max(used, ?) WHERE key = ?", ((when, key) for key, when in stamps)
            )

    def examine(self) -> None:
        """Raise IndexBroken where SQLite finds anything wrong. Takes as long as the index is large."""
        with _errors():
            verdict = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != ("ok",):
            raise IndexBroken(str(verdict[0]))

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Any other statement."""
        with _errors():
            return self._connection.execute(statement, values).fetchall()


def _connect(path: Path, read_only: bool, patience: float) -> sqlite3.Connection:
    # Where SQLite may not make its helper files it can read only what it is told that nobody writes to.
    # Where it may, even a reader needs them: a log that a killed process left has to be recovered.
    mode = "ro&immutable=1" if read_only and not os.access(path.parent, os.W_OK) else "rw"
    with _errors():
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=patience,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """No other process is in here for the index at ``path``."""
    descriptor = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        # A missing table or column: somebody else's file, or one that was cut off.
        if str(error).startswith(("no such table", "no such column", "table ")):
            raise IndexBroken(str(error)) from error
        unusable = IndexUnusable(str(error))
        unusable.disk_full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
        raise unusable from error
    except sqlite3.DatabaseError as error:
        raise IndexBroken(str(error)) from error


def _entry_of(row: tuple[Any, ...]) -> Entry:
    key, root, parent, start, tokens, raw_bytes, file_bytes, used, pins = row
    return Entry(key, Block(root, parent, start, tokens), raw_bytes, file_bytes, used, pins)
