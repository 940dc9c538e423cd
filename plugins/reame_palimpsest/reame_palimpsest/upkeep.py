"""Keeping a tenant's folder small and tidy. Every function wants the folder's lock to be held.

What is removed here may be in use by other processes: they keep what they have mapped until they look again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reame_palimpsest.folders import remove_abandoned
from reame_palimpsest.generations import Generation
from reame_palimpsest.limits import Limits
from reame_palimpsest.log_file import (
    HEADER_SIZE,
    ForeignFile,
    LogReader,
    forget_mark,
    forgotten_up_to,
    lock,
    new_name,
)
from reame_palimpsest.log_file import SUFFIX as LOG
from reame_palimpsest.segment import Segment
from reame_palimpsest.segment_file import SUFFIX as SEGMENT
from reame_palimpsest.segment_file import DamagedFile, Header, read_header, write_segment

log = logging.getLogger("reame.palimpsest")

_SLACK = 0.1
"""Segments are rewritten without their expired part once that is older than the limit by this share of it."""

_MUCH_LARGER = 4
"""A segment of so many times the size of all younger ones is not merged with them."""

Keep = Callable[[Generation], bool]


@dataclass(frozen=True, slots=True)
class Sealed:
    """A segment on disk that has not been opened."""

    path: Path
    header: Header


def sealed(folder: Path, tokenizer: str | None = None) -> list[Sealed]:
    """The segments of ``folder`` with sound headers, the oldest first. Others are nobody's business here."""
    found = []
    for path in folder.glob(f"*{SEGMENT}"):
        try:
            with path.open("rb") as file:
                header = read_header(file)
        except (OSError, ForeignFile, DamagedFile):
            continue
        if tokenizer in (None, header.tokenizer):
            found.append(Sealed(path, header))
    return sorted(found, key=lambda each: (each.header.newest, each.path.name))


def write_segments(
    folder: Path, tokenizer: str, generations: Iterable[Generation], most_words: int
) -> list[Path]:
    """Seal ``generations`` in segments of about ``most_words`` words. Raises OSError."""
    paths: list[Path] = []
    try:
        for part in _parts(generations, most_words):
            paths.append(folder / new_name(SEGMENT))
            write_segment(paths[-1], tokenizer, part)
    except BaseException:
        # All or nothing: they are still where they came from.
        for path in paths:
            path.unlink(missing_ok=True)
        raise
    return paths


def _parts(generations: Iterable[Generation], most_words: int) -> Iterator[list[Generation]]:
    part: list[Generation] = []
    words = 0
    for each in generations:
        if part and words + len(each.tokens) > most_words:
            yield part
            part, words = [], 0
        part.append(each)
        words += len(each.tokens) + 1
    if part:
        yield part


def tidy(folder: Path, tokenizer: str, limits: Limits, now: float) -> None:
    """Seal what dead processes have left, merge small segments, drop what has expired. Raises OSError."""
    remove_abandoned(folder)
    absorb_orphans(folder, tokenizer, limits)
    expired = limits.expired(now)
    rewritten = limits.expired(now, _SLACK)
    for each in sealed(folder, tokenizer):
        if each.header.newest <= expired:
            each.path.unlink(missing_ok=True)
        elif each.header.oldest <= rewritten:
            rewrite(folder, tokenizer, [each.path], lambda kept: kept.time > expired, limits)
    if run := _mergeable(sealed(folder, tokenizer), limits.segment_words):
        rewrite(folder, tokenizer, [each.path for each in run], lambda kept: kept.time > expired, limits)


def _mergeable(segments: list[Sealed], most_words: int) -> list[Sealed]:
    """The latest segments, as far as each is not much larger than those after it together. So there are few
    segments, and each generation is rewritten few times."""
    run: list[Sealed] = []
    words = 0
    for each in reversed(segments):
        if run and (each.header.words > _MUCH_LARGER * words or words + each.header.words > most_words):
            break
        run.insert(0, each)
        words += each.header.words
    return run if len(run) > 1 else []


def rewrite(folder: Path, tokenizer: str, paths: list[Path], keep: Keep, limits: Limits) -> int:
    """Put those generations of the segments at ``paths`` that are worth keeping into new ones; how many were
    not. A segment that cannot be read any more is left to who meets it next. Raises OSError."""
    read: list[Path] = []
    generations: list[Generation] = []
    for path in paths:
        try:
            segment = Segment(path, tokenizer)
        except (OSError, ForeignFile, DamagedFile) as error:
            remove_damaged(path, error)
            continue
        generations += (segment.generation(number) for number in range(segment.generation_count))
        read.append(path)
    kept = [each for each in generations if keep(each)]
    write_segments(folder, tokenizer, kept, limits.segment_words)
    for path in read:
        path.unlink(missing_ok=True)
    return len(generations) - len(kept)


def remove_damaged(path: Path, error: Exception) -> None:
    """A damaged file is of no use to anybody; one of another kind, or unreadable now, is left alone."""
    if isinstance(error, DamagedFile):
        log.warning("%s %s and is removed", path, error)
        try:
            path.unlink(missing_ok=True)
        except OSError:
            log.warning("%s cannot be removed", path)


def absorb_orphans(folder: Path, tokenizer: str, limits: Limits) -> None:
    """Seal the logs of processes that have ended. Raises OSError."""
    for path in sorted(folder.glob(f"*{LOG}")):
        with orphan(path) as mine:
            if not mine:
                continue
            try:
                decoded = LogReader(path, tokenizer).read(final=True)
            except ForeignFile:
                if path.stat().st_size < HEADER_SIZE:  # its process died before it had begun
                    remove_log(path)
                continue
            if decoded.damaged:
                log.warning("%s: %d bytes are damaged or unfinished, the rest is kept", path, decoded.damaged)
            cutoff = forgotten_up_to(path)
            kept = [each for each in decoded.generations if each.time > cutoff]
            write_segments(folder, tokenizer, kept, limits.segment_words)
            remove_log(path)


def remove_log(path: Path) -> None:
    """With all that was to be forgotten in it."""
    path.unlink(missing_ok=True)
    forget_mark(path).unlink(missing_ok=True)


@contextmanager
def orphan(path: Path) -> Iterator[bool]:
    """Whether no process is appending to the log at ``path``, nor will while this one looks."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        yield lock(descriptor)
    finally:
        os.close(descriptor)
