"""Answers by key in one SQLite file, for its owner only. Several processes may use it at once.

What cannot be read is not there, and what cannot be written is left out: an answer can always be computed. A
file that is none of ours any more (torn, overwritten) is removed and made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from filelock import FileLock

if TYPE_CHECKING:
    from reame_memo.options import Options

log = logging.getLogger("reame.plugins.memo")

Result = TypeVar("Result")

NAME = "answers.db"
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB NOT NULL UNIQUE, tenant BLOB NOT NULL, made REAL NOT NULL, used REAL NOT NULL, value BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS by_use ON answers (used);
CREATE INDEX IF NOT EXISTS by_age ON answers (made);
"""
_SELECT = """
SELECT CAST(value AS BLOB), CAST(made AS REAL), CAST(used AS REAL) FROM answers WHERE key = ?
"""
_DIGEST = 16
"""Bytes in front of a value that tell whether it is what was written."""
_PATIENCE_S = 0.25
"""How long to wait for another process that writes."""
_BEGINNING_S = 5.0
"""The same, for one that makes the file."""
_PAUSE_S = 30.0
"""How long the file is left alone when it could not be used: the disk is full, say."""
_SWEEP_S = 3600.0
"""Between two looks for what is too old; and the least by which a later use counts as later."""
_STEP = 64
"""Answers that make room at a time."""
_DAY = 86_400.0
_LOG_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept, in ``bytes`` of the file, and for how many ``seconds``."""

    bytes: float
    seconds: float

    @classmethod
    def of(cls, options: Options) -> Limits:
        return cls(1e6 * options.max_size_mb, _DAY * options.ttl_days)


@dataclass(frozen=True, slots=True)
class Held:
    """What a file holds."""

    answers: int
    bytes: int


class Store:
    """``answers.db`` in ``folder``, which is made when there is something to keep. For any thread."""

    def __init__(
        self,
        folder: Path,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = folder / NAME
        self.errors = 0
        """Times the file could not be used."""
        self._limits = limits
        self._clock = clock
        self._wall_clock = wall_clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._paused_until = float("-inf")
        self._closed = False
        self._swept = float("-inf")
        self._last_held = Held(0, 0)

    @property
    def usable(self) -> bool:
        """Whether what is put now is likely to be there later."""
        return not self._closed and self._clock() >= self._paused_until

    def close(self) -> None:
        """From now on nothing is there and nothing is kept."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def get(self, key: bytes) -> bytes | None:
        """The value of ``key``, exactly as it was put, and no older than is allowed."""

        def read(connection: sqlite3.Connection) -> bytes | None:
            row = connection.execute(_SELECT, (key,)).fetchone()
            if row is None:
                return None
            value, made, used = row
            now = self._wall_clock()
            whole = value[:_DIGEST] == _digest(key, value[_DIGEST:])
            if not whole or made < now - self._limits.seconds:
                connection.execute("DELETE FROM answers WHERE key = ?", (key,))
                return None
            if now - used > _SWEEP_S:
                connection.execute("UPDATE answers SET used = ? WHERE key = ?", (now, key))
            return bytes(value[_DIGEST:])

        return self._use(read, None, to_write=False)

    def put(self, key: bytes, tenant: bytes, value: bytes) -> bool:
        """Whether ``value`` is kept; it replaces an earlier one."""

        def write(connection: sqlite3.Connection) -> bool:
            now = self._wall_clock()
            connection.execute(
                "INSERT OR REPLACE INTO answers (key, tenant, made, used, value) VALUES (?, ?, ?, ?, ?)",
                (key, tenant, now, now, _digest(key, value) + value),
            )
            if abs(now - self._swept) > _SWEEP_S:
                self._swept = now
                connection.execute("DELETE FROM answers WHERE made < ?", (now - self._limits.seconds,))
            self._make_room(connection)
            return True

        return self._use(write, False, to_write=True)

    def remove(self, key: bytes) -> None:
        """Whatever it is."""

        def delete(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM answers WHERE key = ?", (key,))

        self._use(delete, None, to_write=False)

    def forget(self, *, tenant: bytes | None = None, made_before: float | None = None) -> int:
        """Delete what ``tenant`` has and what was made before so many seconds since 1970, or of these what
        is both; with neither, everything. How many answers went. Their bytes are overwritten. Raises
        sqlite3.Error where that is not possible now."""
        if not self.path.exists():
            return 0
        with self._lock:
            connection = self._connected()
            where = "(:tenant IS NULL OR tenant = :tenant) AND (:before IS NULL OR made < :before)"
            values = {"tenant": tenant, "before": made_before}
            gone = connection.execute(f"DELETE FROM answers WHERE {where}", values).rowcount
            connection.execute("PRAGMA incremental_vacuum").fetchall()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return gone

    def held(self, *, patient: bool = True) -> Held:
        """Nothing where the file cannot be used. Who is not ``patient`` gets what was held when it was last
        asked for, if somebody else uses the file at this moment."""
        if not patient and self._lock.locked():
            return self._last_held

        def count(connection: sqlite3.Connection) -> Held:
            [answers] = connection.execute("SELECT count(*) FROM answers").fetchone()
            return Held(answers, _size(connection))

        self._last_held = self._use(count, Held(0, 0), to_write=False)
        return self._last_held

    def _make_room(self, connection: sqlite3.Connection) -> None:
        oldest = "SELECT rowid FROM answers ORDER BY used, rowid LIMIT ?"
        while _size(connection) > self._limits.bytes:
            if not connection.execute(f"DELETE FROM answers WHERE rowid IN ({oldest})", (_STEP,)).rowcount:
                return

    def _use(
        self, action: Callable[[sqlite3.Connection], Result], otherwise: Result, *, to_write: bool
    ) -> Result:
        """What ``action`` answers; ``otherwise`` where nothing was kept yet, or the file cannot be used."""
        with self._lock:
            try:
                return action(self._connected()) if self._may_use(to_write) else otherwise
            except (sqlite3.Error, OSError) as error:
                self._fail(error)
                return otherwise

    def _may_use(self, to_write: bool) -> bool:
        return self.usable and (to_write or self._connection is not None or self.path.exists())

    def _fail(self, error: Exception) -> None:
        self.errors += 1
        self._disconnect()
        if _is_ruined(error):
            log.warning("%s is no file of answers any more (%s): it is made anew", self.path, error)
            for end in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    self.path.with_name(NAME + end).unlink()
            return
        if _is_busy(error):
            return
        self._paused_until = self._clock() + _PAUSE_S
        log.warning("answers are not kept for %.0f s: %s: %s", _PAUSE_S, self.path, error)

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _connect(self.path)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    """Raises OSError, sqlite3.Error."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        with contextlib.suppress(FileExistsError):
            # SQLite gives its other files the mode of this one. Nobody has it open yet: to close a file takes
            # the locks that SQLite holds on it in this process.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
    try:
        version = _pragma(connection, "user_version")
        if version > _VERSION:
            raise sqlite3.OperationalError(f"it was written by a later version of Reame (schema {version})")
        if version < _VERSION or _pragma(connection, "journal_mode") != "wal":
            _make_current(connection, path)
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}").fetchone()
        connection.execute("PRAGMA synchronous = NORMAL")
        # What is forgotten is not to be found in the file.
        connection.execute("PRAGMA secure_delete = ON").fetchone()
        connection.execute("SELECT key, tenant, made, used, value FROM answers LIMIT 0")
    except BaseException:
        connection.close()
        raise
    return connection


def _make_current(connection: sqlite3.Connection, path: Path) -> None:
    """SQLite's own patience does not cover this: of two processes that begin at the same moment one would be
    told that the file is locked."""
    with FileLock(path.with_name(NAME + ".lock"), timeout=_BEGINNING_S, mode=0o600):
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _is_ruined(error: Exception) -> bool:
    return _primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _is_busy(error: Exception) -> bool:
    """Whether it is another process's turn to write, for longer than we wait."""
    return _primary_code(error) == sqlite3.SQLITE_BUSY


def _primary_code(error: Exception) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _size(connection: sqlite3.Connection) -> int:
    """Bytes that are in use: pages without anything are filled again."""
    pages = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
    return int(pages * _pragma(connection, "page_size"))


def _digest(key: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(key + value, digest_size=_DIGEST).digest()
