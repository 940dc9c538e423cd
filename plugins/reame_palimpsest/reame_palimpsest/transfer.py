"""Taking an archive from one server to another, in one file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reame_core.errors import ReameError, UsageError
from reame_palimpsest.folders import TokenizerFolder, locked, make_folder, replace_file
from reame_palimpsest.frames import decode, encode
from reame_palimpsest.generations import content_id
from reame_palimpsest.limits import Limits
from reame_palimpsest.log_file import HEADER_SIZE, ForeignFile, log_header, tokenizer_of
from reame_palimpsest.stored import stored_generations
from reame_palimpsest.upkeep import write_segments


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the generations in a file."""

    tokenizer: str
    added: int
    known: int
    """They were in the archive already."""
    damaged: int
    """Bytes that belong to no generation."""


def export_archive(tokenizer: TokenizerFolder, tenant: str, target: Path) -> int:
    """Write all of a tenant's generations to ``target``; how many. Raises OSError."""
    distinct = {
        content_id(each): each for each in stored_generations(tokenizer.tenant(tenant), tokenizer.tokenizer)
    }
    frames = (encode(each) for each in sorted(distinct.values(), key=lambda each: each.time))
    replace_file(target, _with_header(tokenizer.tokenizer, frames))
    return len(distinct)


def _with_header(tokenizer: str, frames: Iterator[bytes]) -> Iterator[bytes]:
    yield log_header(tokenizer)
    yield from frames


def import_archive(source: Path, root: Path, tenant: str, limits: Limits) -> Imported:
    """Add the generations in ``source`` to a tenant's archive. Raises OSError; UsageError for another file."""
    data = source.read_bytes()
    try:
        tokenizer = tokenizer_of(data[:HEADER_SIZE])
    except ForeignFile as error:
        raise UsageError(f"{source} {error}") from None
    decoded = decode(data[HEADER_SIZE:], final=True)
    folder = TokenizerFolder(root / tokenizer).tenant(tenant)
    make_folder(folder)
    with locked(folder) as mine:
        if not mine:
            raise ReameError(f"another process is at work in {folder}: try again")
        known = {content_id(each) for each in stored_generations(folder, tokenizer)}
        fresh = {identity: each for each in decoded.generations if (identity := content_id(each)) not in known}
        write_segments(
            folder, tokenizer, sorted(fresh.values(), key=lambda each: each.time), limits.segment_words
        )
    return Imported(tokenizer, len(fresh), len(decoded.generations) - len(fresh), decoded.damaged)
