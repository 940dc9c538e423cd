"""Sessions as files, one each: what a session is stands there, and the index can be made anew from it.

checksum | what ``Session`` holds, as MessagePack
"""

from __future__ import annotations

import contextlib
import os
import re

import msgspec
from blake3 import blake3

from reame_diskkv.block_file import SUM_BYTES, checksum
from reame_diskkv.chain import TOKEN_BYTES, decode
from reame_diskkv.folder import BlockFolder

_NAME = re.compile(r"[0-9a-f]{40}\.session")


class Session(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named conversation."""

    id: str
    owner: str
    """The name of its key; empty on a server without keys."""
    title: str
    created: float
    saved: float | None = None
    root: bytes = b""
    """Of its chain; empty before it was saved."""
    encoded: bytes = b""
    """Its tokens, as ``chain.encode`` makes them."""
    block_tokens: int = 0
    """Tokens in a block of its chain."""

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(decode(self.encoded))

    @property
    def length(self) -> int:
        return len(self.encoded) // TOKEN_BYTES


class SessionFiles:
    """Those in a cache's folder. Any thread may call any method; OSError where the disk says no."""

    def __init__(self, folder: BlockFolder) -> None:
        self._folder = folder
        self._descriptor = folder.subfolder("sessions")

    def write(self, session: Session) -> int:
        """Store ``session``, in the place of an earlier state of it: whole or not at all. The file's bytes."""
        data = msgspec.msgpack.encode(session)
        return self._folder.put(self._descriptor, file_name(session.id), [checksum(data), data])

    def read(self, name: str) -> Session | None:
        """The session in the file ``name``; None where that is gone or damaged."""
        try:
            with self._folder.open_file(self._descriptor, name) as (file, _):
                data = file.readall()
        except FileNotFoundError:
            return None
        if checksum(data[SUM_BYTES:]) != data[:SUM_BYTES]:
            return None
        with contextlib.suppress(msgspec.MsgspecError):
            session = msgspec.msgpack.decode(data[SUM_BYTES:], type=Session)
            if file_name(session.id) == name and len(session.encoded) % TOKEN_BYTES == 0:
                return session
        return None

    def remove(self, session_id: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file_name(session_id), dir_fd=self._descriptor)

    def sizes(self) -> dict[str, int]:
        """{name: bytes} of all files."""
        found = {}
        with os.scandir(self._descriptor) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name):
                    with contextlib.suppress(FileNotFoundError):
                        found[entry.name] = entry.stat(follow_symlinks=False).st_size
        return found


def file_size(session: Session) -> int:
    """Bytes that ``session`` takes as a file."""
    return SUM_BYTES + len(msgspec.msgpack.encode(session))


def file_name(session_id: str) -> str:
    """Where a session is kept. What somebody calls a session never becomes part of a path."""
    return blake3(session_id.encode()).hexdigest(length=20) + ".session"
