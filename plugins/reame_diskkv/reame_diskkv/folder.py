"""The files: blocks in 256 folders by the first byte of their key, each complete or not there at all.

    FOLDER/blocks/3f/3f…e1.kv     FOLDER/sessions/…     FOLDER/parts/…     FOLDER/index.db

Everything below FOLDER is opened relative to a descriptor and without following symbolic links; files of other
users and files with other names are not ours and are left alone.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path

from reame_diskkv.codec import Bytes
from reame_diskkv.scratch import Scratch

SHARDS = 256
_NAME = re.compile(r"[0-9a-f]{40}\.kv")
_PART = re.compile(r"[0-9a-f]{16}\.part")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TRIES = 16


class BlockFolder:
    """Any thread may call any method; OSError where the disk says no."""

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        """Opens the folder, and makes it where it does not exist. With ``sync`` a block is on the disk, not
        only in the system's memory, before it can be found."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path
        self._sync = sync
        self._root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._descriptors = [self._root]
        try:
            self._make_private()
            self._blocks = self.subfolder("blocks")
            self._parts = self.subfolder("parts")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _make_private(self) -> None:
        """What others may write to could be made to say anything; what they may read holds prompts."""
        status = os.fstat(self._root)
        if status.st_uid != os.geteuid():
            raise PermissionError(f"{self.path} belongs to another user")
        if status.st_mode & 0o077:
            os.fchmod(self._root, 0o700)

    def subfolder(self, name: str) -> int:
        """The descriptor of a folder in this one, which is made where it does not exist; closed with it."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=self._root)
        descriptor = os.open(name, _DIRECTORY, dir_fd=self._root)
        self._descriptors.append(descriptor)
        return descriptor

    def write(self, key: bytes, parts: Sequence[Bytes]) -> int:
        """Store a block; its size in bytes. It appears whole or, where this raises, not at all."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(_shard(key), 0o700, dir_fd=self._blocks)
        with self._open_shard(key[0]) as shard:
            return self.put(shard, _name(key), parts)

    def put(self, into: int, name: str, parts: Sequence[Bytes]) -> int:
        """As ``write``, for any file in the folder with the descriptor ``into``."""
        part, descriptor = self._new_part()
        try:
            size = _write_all(descriptor, parts)
            if self._sync:
                os.fsync(descriptor)
            os.rename(part, name, src_dir_fd=self._parts, dst_dir_fd=into)
            if self._sync:
                os.fsync(into)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=self._parts)
            raise
        finally:
            os.close(descriptor)
        return size

    def _new_part(self) -> tuple[str, int]:
        """(name, descriptor) of an empty file that is held, so that others can tell it from what a dead process
        left."""
        for _ in range(_TRIES):
            part = secrets.token_hex(8) + ".part"
            descriptor = os.open(part, _CREATE, 0o600, dir_fd=self._parts)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.stat(part, dir_fd=self._parts)
            except (BlockingIOError, FileNotFoundError):
                # Somebody who removes what dead processes left came before it was held.
                os.close(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            else:
                return part, descriptor
        raise OSError(errno.EBUSY, "other processes remove what is written here")

    def read_beginning(self, key: bytes, most: int) -> bytes:
        """The first ``most`` bytes of a block's file."""
        with self._open_shard(key[0]) as shard, self.open_file(shard, _name(key)) as (file, _):
            return file.read(most) or b""

    def read(self, key: bytes, scratch: Scratch) -> memoryview:
        """All of a block's file, in ``scratch``."""
        with self._open_shard(key[0]) as shard, self.open_file(shard, _name(key)) as (file, size):
            memory, done = scratch.of(size).data, 0
            while done < size and (count := file.readinto(memory[done:])):
                done += count
            return memory[:done]

    @contextlib.contextmanager
    def open_file(self, folder: int, name: str) -> Iterator[tuple[FileIO, int]]:
        """(file, size in bytes) of what is called ``name`` in the folder with this descriptor."""
        with FileIO(os.open(name, _READ, dir_fd=folder)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                raise PermissionError(f"{name} is no file of ours")
            yield file, status.st_size

    def remove(self, key: bytes) -> bool:
        """Whether there was such a file."""
        try:
            with self._open_shard(key[0]) as shard:
                os.unlink(_name(key), dir_fd=shard)
        except FileNotFoundError:
            return False
        return True

    def blocks_of(self, shard: int) -> Iterator[tuple[bytes, int, float]]:
        """(key, bytes, time of writing) of every block in one of the ``SHARDS``."""
        try:
            with self._open_shard(shard) as descriptor, os.scandir(descriptor) as entries:
                for entry in entries:
                    if not _NAME.fullmatch(entry.name) or int(entry.name[:2], 16) != shard:
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                        yield bytes.fromhex(entry.name[:-3]), status.st_size, status.st_mtime
        except FileNotFoundError:
            return

    def remove_stale_parts(self) -> int:
        """Delete what processes that are gone did not finish; how many."""
        removed = 0
        for name in filter(_PART.fullmatch, os.listdir(self._parts)):  # noqa: PTH208 (a descriptor)
            with contextlib.suppress(OSError):
                descriptor = os.open(name, _READ, dir_fd=self._parts)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(name, dir_fd=self._parts)
                    removed += 1
                finally:
                    os.close(descriptor)
        return removed

    @contextlib.contextmanager
    def _open_shard(self, number: int) -> Iterator[int]:
        descriptor = os.open(f"{number:02x}", _DIRECTORY, dir_fd=self._blocks)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _shard(key: bytes) -> str:
    return f"{key[0]:02x}"


def _name(key: bytes) -> str:
    return key.hex() + ".kv"


def _write_all(descriptor: int, parts: Sequence[Bytes]) -> int:
    size = 0
    for part in parts:
        left = memoryview(part)
        while left:
            written = os.write(descriptor, left)
            size += written
            left = left[written:]
    return size
