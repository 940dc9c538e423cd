"""Deleting generations, also those that a running server still writes to its log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from reame_core.errors import ReameError
from reame_palimpsest.folders import TokenizerFolder, locked, replace_file, tokenizer_folders
from reame_palimpsest.limits import Limits
from reame_palimpsest.log_file import SUFFIX as LOG
from reame_palimpsest.log_file import forget_mark, forgotten_up_to
from reame_palimpsest.upkeep import absorb_orphans, orphan, rewrite, sealed


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What has become of a wish to forget."""

    generations: int
    """Removed from the disk."""
    living_logs: int
    """Logs of running servers, which remove theirs within seconds."""


def forget(root: Path, up_to: int, tenant: str | None, limits: Limits) -> Forgotten:
    """Remove everything until the time ``up_to``, of one tenant or of all. Raises OSError, or ReameError where
    somebody else has been busy in a folder for long."""
    removed = living = 0
    for tokenizer in tokenizer_folders(root):
        for folder in _folders(tokenizer, tenant):
            with locked(folder) as mine:
                if not mine:
                    raise ReameError(f"another process is at work in {folder}: try again")
                absorb_orphans(folder, tokenizer.tokenizer, limits)
                removed += _forget_sealed(folder, tokenizer.tokenizer, up_to, limits)
                living += _mark_living(folder, up_to)
    return Forgotten(removed, living)


def _folders(tokenizer: TokenizerFolder, tenant: str | None) -> Iterable[Path]:
    return tokenizer.tenants() if tenant is None else filter(Path.is_dir, [tokenizer.tenant(tenant)])


def _forget_sealed(folder: Path, tokenizer: str, up_to: int, limits: Limits) -> int:
    removed = 0
    for each in sealed(folder, tokenizer):
        if each.header.newest <= up_to:
            each.path.unlink(missing_ok=True)
            removed += each.header.generations
        elif each.header.oldest <= up_to:
            removed += rewrite(folder, tokenizer, [each.path], lambda kept: kept.time > up_to, limits)
    return removed


def _mark_living(folder: Path, up_to: int) -> int:
    marked = 0
    for path in folder.glob(f"*{LOG}"):
        with orphan(path) as dead:
            if dead or not path.exists():
                continue
        replace_file(forget_mark(path), [str(max(up_to, forgotten_up_to(path))).encode()])
        marked += 1
    return marked
