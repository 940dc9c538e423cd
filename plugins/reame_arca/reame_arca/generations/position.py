"""How far a stream has been followed, in a file for its owner only, beside the archive that has what came from
it: who removes that follows the stream from its beginning again.

The same file says who this server is, so that it knows its own messages after a restart. Only one process
follows for an archive; the others on it see what that one adds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
from pathlib import Path

import msgspec

BEGINNING = "0-0"
_ID = re.compile(r"\d{1,20}-\d{1,20}")


class _Noted(msgspec.Struct):
    server: str
    positions: dict[str, str]


class Position:
    """Of one stream. ``load`` first. For one thread."""

    def __init__(self, folder: Path, stream: str) -> None:
        self._path = folder / f"arca-{stream.rpartition(':')[2][:32]}.position"
        self._descriptor: int | None = None
        self._noted = _Noted(secrets.token_hex(8), {})

    @property
    def server(self) -> str:
        """Stands for everybody who writes into this archive."""
        return self._noted.server

    def load(self) -> bool:
        """Read what is noted; whether no other process follows with this archive. Raises OSError."""
        if self._descriptor is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._path.with_suffix(".lock"), flags, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                self._read()
                return False
            self._descriptor = descriptor
        if not self._read():
            self._write()
        return True

    def get(self, identity: str) -> str:
        """The last message that was archived from the store of this identity."""
        return self._noted.positions.get(identity, BEGINNING)

    def set(self, identity: str, position: str) -> None:
        """Everything up to ``position`` is archived. Raises OSError."""
        # An identity that is not there any more never comes back.
        self._noted.positions = {identity: position}
        self._write()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _read(self) -> bool:
        """Whether anything is noted. What makes no sense counts as nothing."""
        try:
            noted = msgspec.json.decode(self._path.read_bytes(), type=_Noted)
        except (OSError, msgspec.MsgspecError):
            return False
        if not all(_ID.fullmatch(each) for each in noted.positions.values()):
            return False
        self._noted = noted
        return True

    def _write(self) -> None:
        part = self._path.with_name(f"{self._path.name}.{secrets.token_hex(4)}.part")
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(self._noted))
            part.replace(self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink()
            raise
