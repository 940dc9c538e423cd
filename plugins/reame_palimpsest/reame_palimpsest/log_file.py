"""The live part of an archive on disk: one append-only file a process, locked as long as that process lives."""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from pathlib import Path

from reame_palimpsest.frames import Decoded, decode, encode
from reame_palimpsest.generations import Generation

SUFFIX = ".log"
_FORGET = ".forget"
HEADER_SIZE = 32
_MAGIC = b"RPALLOG1"


class ForeignFile(Exception):
    """A file that is none of ours, or was written for another tokenizer; half a sentence."""


def log_header(tokenizer: str) -> bytes:
    """The first bytes of a log; ``tokenizer`` is 32 hexadecimal digits."""
    return (_MAGIC + bytes.fromhex(tokenizer)).ljust(HEADER_SIZE, b"\0")


def tokenizer_of(header: bytes) -> str:
    """Which tokenizer a log was written for. Raises ForeignFile."""
    if len(header) < HEADER_SIZE or not header.startswith(_MAGIC):
        raise ForeignFile("is no archive of generations")
    return header[len(_MAGIC) : len(_MAGIC) + 16].hex()


def forget_mark(path: Path) -> Path:
    """Beside a log that somebody else is writing: up to when its generations are to be forgotten."""
    return path.with_name(path.name + _FORGET)


def forgotten_up_to(path: Path) -> int:
    """The time in the mark of the log at ``path``; 0 without one. Raises OSError."""
    try:
        return int(forget_mark(path).read_text("ascii"))
    except FileNotFoundError:
        return 0
    except ValueError:
        # Somebody wanted something to be forgotten: rather too much than nothing.
        return 1 << 62


def new_name(suffix: str) -> str:
    """A file name nobody else chooses; names sort by age."""
    return f"{time.time_ns():020d}-{secrets.token_hex(6)}{suffix}"


def lock(descriptor: int) -> bool:
    """Take the lock of an open file without waiting; it goes with the last duplicate of the descriptor."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class LogWriter:
    """A log of this process. All methods may raise OSError; the log is whole all the same."""

    def __init__(self, folder: Path, tokenizer: str) -> None:
        self._descriptor, self.path = _create(folder)
        self.size = 0
        self._append(log_header(tokenizer))

    def append(self, generation: Generation) -> None:
        """Readers find it from now on."""
        self._append(encode(generation))

    def _append(self, data: bytes) -> None:
        try:
            written = 0
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError:
            # A full disk takes half a frame; without it the next one begins where it should.
            os.ftruncate(self._descriptor, self.size)
            raise
        self.size += len(data)

    def close(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)


def _create(folder: Path) -> tuple[int, Path]:
    """A new, locked file that nobody has taken for an orphan between its making and its locking."""
    while True:
        path = folder / new_name(SUFFIX)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            if lock(descriptor) and os.fstat(descriptor).st_nlink:
                return descriptor, path
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


class LogReader:
    """Reads what any process has appended to a log, again and again."""

    def __init__(self, path: Path, tokenizer: str) -> None:
        self.path = path
        self._tokenizer = tokenizer
        self._position = 0

    def read(self, *, final: bool = False) -> Decoded:
        """What has come since the last call. Raises ForeignFile, or OSError as the file's reading does."""
        with self.path.open("rb") as file:
            if self._position == 0:
                header = file.read(HEADER_SIZE)
                if len(header) < HEADER_SIZE and not final:
                    return Decoded([], 0, 0)
                if tokenizer_of(header) != self._tokenizer:
                    raise ForeignFile("belongs to another tokenizer")
                self._position = HEADER_SIZE
            file.seek(self._position)
            decoded = decode(file.read(), final=final)
        self._position += decoded.consumed
        return decoded
