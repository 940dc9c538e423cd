"""Where an archive lies: a folder for each tokenizer, in it one for each tenant, files for their owner only."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from reame_palimpsest.log_file import lock, new_name

_LOCK = "lock"
_ABOUT = "about.json"
_TEMPORARY = ".tmp"
_ABANDONED = 3600
"""Seconds after which a temporary file belongs to a process that has died."""
_PATIENCE = 5.0
_PAUSE = 0.01


def hashed(text: str, what: str) -> str:
    """32 hexadecimal digits instead of ``text``, which may be a user's."""
    return hashlib.blake2b(text.encode(), digest_size=16, person=f"reame-{what}".encode()[:16]).hexdigest()


def tenant_folder_name(tenant: str) -> str:
    return hashed(tenant, "tenant")


@dataclass(frozen=True, slots=True)
class TokenizerFolder:
    """All tenants' archives for one tokenizer."""

    path: Path

    @property
    def tokenizer(self) -> str:
        return self.path.name

    def tenant(self, tenant: str) -> Path:
        return self.path / tenant_folder_name(tenant)

    def tenants(self) -> list[Path]:
        """The folders of those who have archived something."""
        return _folders(self.path)

    def describe(self, model: str) -> None:
        """Leave a note for people about the model. Raises OSError."""
        make_folder(self.path)
        about = self.path / _ABOUT
        if model not in self.models:
            replace_file(about, [json.dumps({"models": [*self.models, model]}).encode()])

    @property
    def models(self) -> list[str]:
        """Names of models whose generations are here."""
        try:
            models = json.loads((self.path / _ABOUT).read_bytes())["models"]
            return [str(each) for each in models]
        except (OSError, ValueError, KeyError, TypeError):
            return []


def tokenizer_folders(root: Path) -> list[TokenizerFolder]:
    """What an archive's directory holds."""
    return [TokenizerFolder(path) for path in _folders(root)]


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if is_digest(path.name) and path.is_dir())
    except OSError:
        return []


def is_digest(name: str) -> bool:
    """Whether this can be the name of a tokenizer's or a tenant's folder."""
    return len(name) == 32 and set(name) <= set("0123456789abcdef")


def make_folder(path: Path) -> None:
    """For its owner only, like those above it that do not exist yet. Raises OSError."""
    missing = [folder for folder in (path, *path.parents) if not folder.is_dir()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)


def replace_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file that is there whole, also after a power cut, or not at all. Raises OSError."""
    temporary = path.with_name(new_name(_TEMPORARY))
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_abandoned(folder: Path) -> None:
    """Temporary files that a killed process has left behind."""
    for path in folder.glob(f"*{_TEMPORARY}"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED:
                path.unlink()


@contextmanager
def locked(folder: Path, patience: float = _PATIENCE) -> Iterator[bool]:
    """Whether this process is now the only one that removes or replaces files in ``folder``. Somebody who
    holds the lock for longer than ``patience`` seconds keeps it. Raises OSError."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + patience
        while not (mine := lock(descriptor)) and time.monotonic() < until:
            time.sleep(_PAUSE)
        yield mine
    finally:
        os.close(descriptor)
