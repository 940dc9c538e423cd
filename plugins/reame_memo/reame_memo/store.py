"""Answers by key in one SQLite file, for its owner only. Several processes may use it at once.

What cannot be read is not there, and what cannot be written is left out: an answer can always be computed. A
file that is none of ours any more (torn, overwritten) is removed and made anew. Who reads never waits for who
writes, in this process or in others.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reame_memo.database import NAME, Database, is_busy, is_ruined, remove_ruined

if TYPE_CHECKING:
    from reame_memo.options import Options

log = logging.getLogger("reame.plugins.memo")

Result = TypeVar("Result")

_SELECT = "SELECT CAST(value AS BLOB), CAST(made AS REAL) FROM answers WHERE key = ?"
_INSERT = "INSERT OR REPLACE INTO answers (key, tenant, made, used, value) VALUES (?, ?, ?, ?, ?)"
_OLDEST = "SELECT rowid, length(value) FROM answers WHERE key <> ? ORDER BY used, rowid LIMIT ?"
_TOO_OLD = "SELECT rowid FROM answers WHERE made < ? LIMIT ?"
_DIGEST = 16
"""Bytes in front of a value that tell whether it is what was written."""
_PAUSE_S = 30.0
"""How long nothing is written where that failed: the disk is full, say."""
_SWEEP_S = 3600.0
"""Between two looks for what is too old."""
_STEP, _STEPS = 64, 8
"""Answers that make room at a time, and how often for one that is put: nobody waits for long, and where the
limit was lowered the next ones go on."""
_SWEPT = 500
"""Too old answers that go with one that is put."""
_MOST_USES = 4096
_FORGETTING_S = 5.0
"""How long to wait for others, where something is to be forgotten."""
_DAY = 86_400.0


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


class _Side:
    """A connection and who uses it at the moment."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.database: Database | None = None
        self.inode: int | None = None
        """Of the file that was opened last, or could not be."""

    def opened(self, path: Path, *, to_write: bool) -> Database:
        if self.database is not None and not self.database.is_current:
            self.close()
        if self.database is None:
            self.inode = path.stat().st_ino if path.exists() else None
            self.database = Database(path, to_write=to_write)
            self.inode = self.database.inode
        return self.database

    def close(self) -> None:
        database, self.database = self.database, None
        if database is not None:
            database.close()


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
        """Times the file could not be used, or held something that was never put there."""
        self.last_error: Exception | None = None
        """Why it could not be used."""
        self._limits = limits
        self._clock = clock
        self._wall_clock = wall_clock
        self._reading, self._writing = _Side(), _Side()
        self._paused_until = float("-inf")
        self._closed = False
        self._swept = float("-inf")
        self._uses = _Uses()
        self._last_held = Held(0, 0)

    @property
    def usable(self) -> bool:
        """Whether what is put now is likely to be there later."""
        return not self._closed and self._clock() >= self._paused_until

    def close(self) -> None:
        """From now on nothing is there and nothing is kept."""
        self._closed = True
        for side in (self._reading, self._writing):
            with side.lock:
                side.close()

    def get(self, key: bytes) -> bytes | None:
        """The value of ``key``, exactly as it was put, and no older than is allowed."""

        def read(database: Database) -> tuple[bytes, float] | None:
            row: tuple[bytes, float] | None = database.connection.execute(_SELECT, (key,)).fetchone()
            return row

        found = self._read(read, None)
        if found is None:
            return None
        now = self._wall_clock()
        value, made = found
        if value[:_DIGEST] != _digest(key, value[_DIGEST:]):
            self.errors += 1
            self.remove(key)
            return None
        if made < now - self._limits.seconds:
            return None
        self._uses.add(key, now)
        return value[_DIGEST:]

    def put(self, key: bytes, tenant: bytes, value: bytes) -> bool:
        """Whether ``value`` is kept; it replaces an earlier one."""
        if len(value) > self._limits.bytes:
            return False

        def write(database: Database) -> bool:
            connection = database.connection
            now = self._wall_clock()
            with _transaction(connection):
                self._uses.write(connection)
                connection.execute(_INSERT, (key, tenant, now, now, _digest(key, value) + value))
                if abs(now - self._swept) > _SWEEP_S:
                    old = connection.execute(_TOO_OLD, (now - self._limits.seconds, _SWEPT)).fetchall()
                    connection.executemany("DELETE FROM answers WHERE rowid = ?", old)
                    self._swept = now if len(old) < _SWEPT else self._swept
            self._make_room(database, key)
            return True

        return self._write(write, False)

    def remove(self, key: bytes) -> None:
        """Whatever it is."""

        def delete(database: Database) -> None:
            database.connection.execute("DELETE FROM answers WHERE key = ?", (key,))

        if self.path.exists():
            self._write(delete, None)

    def forget(self, *, tenant: bytes | None = None, made_before: float | None = None) -> int:
        """Delete what ``tenant`` has and what was made before so many seconds since 1970, or of these what
        is both; with neither, everything. How many answers went. Their bytes are overwritten. Raises
        sqlite3.Error, OSError where that is not possible now."""
        if not self.path.exists():
            return 0
        database = Database(self.path, to_write=True, patience=_FORGETTING_S)
        try:
            where = "(:tenant IS NULL OR tenant = :tenant) AND (:before IS NULL OR made < :before)"
            values = {"tenant": tenant, "before": made_before}
            gone = database.connection.execute(f"DELETE FROM answers WHERE {where}", values).rowcount
            database.connection.execute("PRAGMA incremental_vacuum").fetchall()
            if database.pragma("wal_checkpoint(TRUNCATE)"):
                raise sqlite3.OperationalError(
                    f"{gone} answers are deleted but not yet overwritten: it is in use"
                )
            return gone
        finally:
            database.close()

    def held(self, *, patient: bool = True) -> Held:
        """What was last held where the file cannot be used, or, for who is not ``patient``, where somebody else
        reads it at this moment."""

        def count(database: Database) -> Held:
            [answers] = database.connection.execute("SELECT count(*) FROM answers").fetchone()
            self._last_held = Held(answers, database.size)
            return self._last_held

        return self._read(count, self._last_held, patient=patient)

    def _make_room(self, database: Database, spared: bytes) -> None:
        """Those go that were not wanted for longest, but not ``spared``."""
        for _ in range(_STEPS):
            excess = database.size - self._limits.bytes
            if excess <= 0:
                return
            chosen = []
            for rowid, length in database.connection.execute(_OLDEST, (spared, _STEP)).fetchall():
                if excess <= 0:
                    break
                chosen.append((rowid,))
                excess -= length
            if not chosen:
                return
            with _transaction(database.connection):
                database.connection.executemany("DELETE FROM answers WHERE rowid = ?", chosen)

    def _read(self, action: Callable[[Database], Result], otherwise: Result, *, patient: bool = True) -> Result:
        """What ``action`` answers; ``otherwise`` where nothing was kept yet, or the file cannot be read."""
        side = self._reading
        if not side.lock.acquire(blocking=patient):
            return otherwise
        try:
            if self._closed or not self.path.exists():
                return otherwise
            return action(side.opened(self.path, to_write=False))
        except (sqlite3.Error, OSError) as error:
            self._failed(side, error)
            return otherwise
        finally:
            side.lock.release()

    def _write(self, action: Callable[[Database], Result], otherwise: Result) -> Result:
        side = self._writing
        with side.lock:
            if not self.usable:
                return otherwise
            try:
                return action(side.opened(self.path, to_write=True))
            except (sqlite3.Error, OSError) as error:
                if self._failed(side, error):
                    self._paused_until = self._clock() + _PAUSE_S
                    log.warning("no answers are kept for %.0f s: %s: %s", _PAUSE_S, self.path, error)
                return otherwise

    def _failed(self, side: _Side, error: Exception) -> bool:
        """Whether there is no remedy but to wait."""
        if is_busy(error):
            return False
        self.errors += 1
        self.last_error = error
        if is_ruined(error):
            log.warning("%s is no file of answers any more (%s): it is made anew", self.path, error)
            side.close()
            remove_ruined(self.path, side.inode)
            return False
        side.close()
        return True


class _Uses:
    """When answers were given since something was last put, for then it is written down. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses: dict[bytes, float] = {}

    def add(self, key: bytes, used: float) -> None:
        with self._lock:
            if len(self._uses) < _MOST_USES:
                self._uses[key] = used

    def write(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            uses, self._uses = self._uses, {}
        times = [(used, key) for key, used in uses.items()]
        connection.executemany("UPDATE answers SET used = ? WHERE key = ?", times)


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _digest(key: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(key + value, digest_size=_DIGEST).digest()
