"""The models folder: model files by name, and beside them, in ``.reame``, what Reame has to know of them.

A model called NAME is the file ``NAME.gguf`` or the files ``NAME-00001-of-00003.gguf``, …, whoever put them
there. For those that were fetched there is a receipt, ``.reame/NAME.json``.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reame_core.errors import ModelError
from reame_core.models.model_file import first_shard_or_whole, shard_names, shard_stem, split_into
from reame_core.models.wording import printable

if TYPE_CHECKING:
    from reame_core.models.download.part import Part

OWN = ".reame"
"""The folder of parts, locks and receipts; on the same file system as the models, so that a finished part is
moved into its place in one step."""


class ReceiptFile(msgspec.Struct, frozen=True):
    """A file as it was fetched."""

    name: str
    size: int
    sha256: str


class Receipt(msgspec.Struct, frozen=True):
    """What was fetched under a name."""

    asked: str
    """The source that was asked for."""
    reference: str
    """What it was at that time, exactly."""
    files: tuple[ReceiptFile, ...]


class ModelsFolder:
    """The folder at ``path``, which need not exist. Any number of processes may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def models(self) -> dict[str, Path]:
        """The first file of each model, by name."""
        try:
            files = sorted(path for path in self.path.iterdir() if first_shard_or_whole(path.name))
        except OSError:
            return {}
        return {shard_stem(path.name): path for path in files if not path.name.startswith(".")}

    def find(self, name: str) -> Path | None:
        """The first file of the model called ``name``."""
        return self.models().get(name)

    def files(self, name: str) -> list[Path]:
        """All its files that are there."""
        first = self.find(name)
        parts = shard_names(first.name) if first is not None else []
        return [path for part in parts if (path := self.path / part).exists()]

    def receipt(self, name: str) -> Receipt | None:
        """What was fetched under ``name``; None for a file that somebody put there."""
        try:
            return msgspec.json.decode(self._own(name, ".json").read_bytes(), type=Receipt)
        except (OSError, msgspec.DecodeError):
            return None

    def fetched_from(self, reference: str) -> str | None:
        """The name under which the model of this source was fetched."""
        for name in self.models():
            receipt = self.receipt(name)
            if receipt is not None and reference in (receipt.asked, receipt.reference):
                return name
        return None

    def damage(self, name: str) -> str | None:
        """What is wrong with a model that was fetched, as a sentence; None where its files have the sizes they
        had then."""
        receipt = self.receipt(name)
        for file in receipt.files if receipt else ():
            try:
                size = (self.path / file.name).stat().st_size
            except FileNotFoundError:
                return f"{printable(self.path / file.name)} is missing"
            if size != file.size:
                return f"{printable(self.path / file.name)} has {size:,} of {file.size:,} bytes"
        return None

    def part(self, file_name: str) -> Path:
        """Where a file grows that will be called so."""
        return self._own(file_name, ".part")

    def parts(self, name: str) -> list[Path]:
        """What is here of downloads of ``name`` that are not finished."""
        try:
            found = sorted(self._own_folder.glob("*.part"))
        except OSError:
            return []
        return [path for path in found if shard_stem(path.name.removesuffix(".part")) == name]

    def prepare(self) -> None:
        """Make the folders. Raises ModelError where that is impossible, or nothing can be written there."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # Hidden and for this user: receipts may name private repositories.
            self._own_folder.mkdir(mode=0o700, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._own_folder):
                pass
        except OSError as error:
            raise ModelError(
                f"no model can be put into {printable(self.path)} ({error.strerror or error}): name a folder "
                "that this user can write to, by REAME_HOME or the setting model.folder"
            ) from None

    @contextmanager
    def lock(self, name: str, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold what only one process at a time may change. ``waiting`` is called once if somebody else holds
        it. The operating system frees the lock of a process that dies."""
        from filelock import FileLock, Timeout

        lock = FileLock(self._own(name, ".lock"), mode=0o600)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waiting()
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def publish(self, name: str, parts: list[Part], receipt: Receipt) -> Path:
        """Put finished parts into their places, the first last: with it the model is there. Returns its
        path."""
        old = set(self.files(name))
        self._write_receipt(name, receipt)
        targets = [self.path / file.name for file in receipt.files]
        for part, target in reversed(list(zip(parts, targets, strict=True))):
            part.publish(target)
        for path in old - set(targets):
            path.unlink(missing_ok=True)
        _sync(self.path)
        return targets[0]

    def remove(self, name: str) -> int:
        """Delete the model called ``name``, its receipt and whatever is here of a download of it. Returns how
        many bytes that frees; 0 where there was nothing."""
        own = [self._own(name, ".json"), *self.parts(name)]
        own += [path.with_name(path.name + ".json") for path in self.parts(name)]
        freed = 0
        # The first file first: what is left after a break is then no model any more.
        for path in [*self.files(name), *own]:
            with contextlib.suppress(FileNotFoundError):
                freed += path.stat().st_size
                path.unlink()
        return freed

    def _write_receipt(self, name: str, receipt: Receipt) -> None:
        path = self._own(name, ".json")
        temporary = path.with_name(path.name + ".new")
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(receipt)))
        temporary.replace(path)

    def _own(self, name: str, ending: str) -> Path:
        return self._own_folder / f"{name}{ending}"

    @property
    def _own_folder(self) -> Path:
        return self.path / OWN


def file_names(name: str, count: int) -> list[str]:
    """What the files of a model in ``count`` files are called in the folder."""
    return [f"{name}.gguf"] if count == 1 else split_into(name, count)


def _sync(folder: Path) -> None:
    """Make the new names survive a power cut, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
