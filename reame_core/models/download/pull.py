"""A whole model from its source into the models folder."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reame_core.errors import ModelError
from reame_core.host.memory import byte_count
from reame_core.models.download.part import Part
from reame_core.models.download.progress import Progress, Silent
from reame_core.models.download.transfer import Transfer
from reame_core.models.download.web import Web
from reame_core.models.folder import ModelsFolder, Receipt, ReceiptFile, file_names
from reame_core.models.wording import printable

if TYPE_CHECKING:
    from reame_core.models.sources import RemoteModel, RemoteSource

SPARE_BYTES = 64_000_000
"""Left on the disk for everybody else."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """What became of a pull."""

    path: Path
    """The model's first file."""
    fetched: bool
    """False where it was here already."""
    reference: str = ""
    unchecked: bool = False
    """Nobody said which checksum to expect."""


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def pull(
    name: str,
    source: RemoteSource,
    folder: ModelsFolder,
    *,
    shared_name: bool = False,
    web: Web | None = None,
    progress: Progress | None = None,
    sha256: str | None = None,
    again: bool = False,
    free: Callable[[Path], int] = free_bytes,
) -> Pulled:
    """Fetch the model at ``source`` as ``name``, unless it is here and whole.

    ``again`` fetches it all the same; the old one serves until the new one is complete. ``sha256`` is what its
    one file has to have.
    ``shared_name`` says that another source may have given a model the same name, which is refused then.

    Two processes do it once: the second waits and finds it done. An interrupt leaves the parts, and the next
    call goes on with them. Blocks. Raises ModelError."""
    progress = progress or Silent()
    web = (web or Web()).telling(progress)
    folder.prepare()
    shown = printable(name)
    with (
        _disk_trouble(folder, name),
        folder.lock(name, lambda: progress.say(f"another process is fetching {shown}, waiting for it")),
    ):
        if shared_name:
            _refuse_namesake(folder, name, source)
        here = folder.find(name)
        if here is not None and not again and folder.damage(name) is None:
            return Pulled(here, fetched=False)
        model = _pinned(source.look_up(web), sha256, shown)
        names = file_names(name, len(model.files))
        room = _Room(folder, shown, free)
        room.check(_missing(model, names, folder))
        with ExitStack() as parts:
            whole = _fetch_all(model, names, room, web, progress, parts)
            files = tuple(
                ReceiptFile(each, part.size, part.sha256) for each, part in zip(names, whole, strict=True)
            )
        path = folder.publish(name, whole, Receipt(source.reference, model.reference, files))
        unchecked = sha256 is None and any(file.sha256 is None for file in model.files)
        return Pulled(path, fetched=True, reference=model.reference, unchecked=unchecked)


def _refuse_namesake(folder: ModelsFolder, name: str, source: RemoteSource) -> None:
    receipt = folder.receipt(name)
    if folder.find(name) is None or (receipt and source.reference in (receipt.asked, receipt.reference)):
        return
    origin = f"from {printable(receipt.asked)}" if receipt else "put into the models folder by somebody"
    raise ModelError(f"there is another model {printable(name)}, {origin}: choose a name with --name")


@dataclass(frozen=True, slots=True)
class _Room:
    """Whether the disk holds what is to come."""

    folder: ModelsFolder
    shown: str
    free: Callable[[Path], int]

    def check(self, missing: int) -> None:
        """Raise ModelError where ``missing`` more bytes do not fit."""
        left = self.free(self.folder.path)
        if missing + SPARE_BYTES > left:
            raise ModelError(
                f"{self.shown} needs {byte_count(missing)} more on the disk of {printable(self.folder.path)}, "
                f"where {byte_count(left)} is free: remove something (reame rm), or put models elsewhere "
                "(model.folder)"
            )


def _fetch_all(
    model: RemoteModel, names: list[str], room: _Room, web: Web, progress: Progress, parts: ExitStack
) -> list[Part]:
    whole = []
    with web.client() as client:
        for number, (file, name) in enumerate(zip(model.files, names, strict=True), 1):
            part = parts.enter_context(Part(room.folder.part(name), file.identity))
            title = file.name if len(names) == 1 else f"{file.name} ({number} of {len(names)})"
            Transfer(file, part, client, web, progress, room.check, title).run()
            whole.append(part)
    return whole


def _pinned(model: RemoteModel, sha256: str | None, shown: str) -> RemoteModel:
    """``model``, whose one file has to have this checksum. Raises ModelError where the hub itself says that the
    file is no longer the one of the catalogue."""
    if sha256 is None:
        return model
    file, *others = model.files
    if others or (file.sha256 is not None and file.sha256.lower() != sha256.lower()):
        raise ModelError(
            f"{shown} was changed at its source: the catalogue expects one file with the SHA-256 "
            f"{sha256.lower()}; correct its entry, or name the revision that had it"
        )
    return replace(model, files=(replace(file, sha256=sha256),))


def _missing(model: RemoteModel, names: list[str], folder: ModelsFolder) -> int:
    """Bytes that are still to come, as far as the server has said how many there are."""
    missing = 0
    for file, name in zip(model.files, names, strict=True):
        part = folder.part(name)
        here = part.stat().st_size if part.exists() else 0
        missing += max((file.size or 0) - here, 0)
    return missing


@contextmanager
def _disk_trouble(folder: ModelsFolder, name: str) -> Iterator[None]:
    """What the operating system says about files, as one line."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ModelError(
                f"the disk of {printable(folder.path)} is full: make room and pull again, which goes on where "
                f"it ended, or give up what is here with reame rm {printable(name)}"
            ) from None
        place = error.filename if error.filename is not None else folder.path
        raise ModelError(f"{printable(place)} cannot be written: {error.strerror or error}") from None
