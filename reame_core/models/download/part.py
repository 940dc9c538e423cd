"""The part of a file that is here so far: ``NAME.part``, and beside it what it is a part of.

The part is written as it comes and never shortened by a break, so that nothing but its length has to be
believed after a crash.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from io import FileIO
    from types import TracebackType

_PIECE = 1 << 20
_LARGEST_NOTES = 1 << 16


class Part:
    """A file that grows. ``identity`` says of what: a part of anything else is thrown away.

    Raises OSError like any file. Used by one thread, under the lock of its model."""

    def __init__(self, path: Path, identity: str) -> None:
        self.path = path
        self._notes_path = path.with_name(path.name + ".json")
        self._identity = identity
        # Without a buffer a process that is killed loses nothing that has come.
        self._file: FileIO = path.open("a+b", buffering=0)
        self.size = os.fstat(self._file.fileno()).st_size
        notes = self._read_notes()
        self.validator: str | None = notes.get("validator")
        """What the server called this version of the file: for ``If-Range``."""
        self._hash = hashlib.sha256()
        self.resumed = self.size > 0
        """Whether some of it was there before."""
        if notes.get("identity") != identity:
            self.restart()

    def __enter__(self) -> Part:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if self.size == 0:
            self.discard()

    def read_back(self, told: Callable[[int], None]) -> None:
        """Take what is there into the checksum; ``told`` hears how many bytes have been read."""
        self._file.seek(0)
        self._hash = hashlib.sha256()
        done = 0
        while piece := self._file.read(_PIECE):
            self._hash.update(piece)
            done += len(piece)
            told(done)
        self.size = done

    def append(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._hash.update(data)
        self.size += len(data)

    def restart(self) -> None:
        """Throw away what is there."""
        self._file.truncate(0)
        self._hash = hashlib.sha256()
        self.size = 0
        self.validator = None
        self.resumed = False

    def note(self, validator: str | None) -> None:
        """Write down what the bytes from here on belong to."""
        self.validator = validator
        notes = {"identity": self._identity, "validator": validator}
        self._notes_path.write_text(json.dumps(notes), encoding="utf-8")

    @property
    def sha256(self) -> str:
        """Of everything so far."""
        return self._hash.hexdigest()

    def finish(self) -> None:
        """See to it that all of it is on the disk."""
        os.fsync(self._file.fileno())

    @property
    def lost(self) -> bool:
        """Whether somebody has removed it meanwhile."""
        return os.fstat(self._file.fileno()).st_nlink == 0

    def discard(self) -> None:
        """Remove it with its notes."""
        self._file.close()
        for path in (self.path, self._notes_path):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()

    def publish(self, target: Path) -> None:
        """Move it to its place in one step. It must be closed."""
        self.path.replace(target)
        with contextlib.suppress(FileNotFoundError):
            self._notes_path.unlink()

    def _read_notes(self) -> dict[str, str]:
        try:
            with self._notes_path.open("rb") as file:
                notes = json.loads(file.read(_LARGEST_NOTES))
        except (OSError, ValueError):
            return {}
        texts = notes.items() if isinstance(notes, dict) else ()
        return {key: value for key, value in texts if isinstance(value, str)}
