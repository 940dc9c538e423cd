"""All generations of a tenant's folder, for commands: whoever has written them, or is still writing."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reame_palimpsest.folders import TokenizerFolder, tenant_folder_name
from reame_palimpsest.generations import Generation
from reame_palimpsest.log_file import SUFFIX as LOG
from reame_palimpsest.log_file import ForeignFile, LogReader, forgotten_up_to
from reame_palimpsest.segment import Segment
from reame_palimpsest.segment_file import SUFFIX as SEGMENT
from reame_palimpsest.segment_file import DamagedFile

log = logging.getLogger("reame.palimpsest")


def stored_generations(folder: Path, tokenizer: str) -> Iterator[Generation]:
    """In no order; some twice after a crash. Files that cannot be read are left out with a warning."""
    # Logs first: one that is sealed meanwhile is met again as a segment, never missed.
    for path in sorted(folder.glob(f"*{LOG}")):
        try:
            found = LogReader(path, tokenizer).read(final=True).generations
            cutoff = forgotten_up_to(path)
        except FileNotFoundError:
            continue
        except (OSError, ForeignFile) as error:
            log.warning("%s is left out: %s", path, error)
            continue
        yield from (each for each in found if each.time > cutoff)
    for path in sorted(folder.glob(f"*{SEGMENT}")):
        try:
            segment = Segment(path, tokenizer)
        except FileNotFoundError:
            continue
        except (OSError, ForeignFile, DamagedFile) as error:
            log.warning("%s is left out: %s", path, error)
            continue
        yield from (segment.generation(number) for number in range(segment.generation_count))


@dataclass(frozen=True, slots=True)
class Holding:
    """What one tenant has in the archive of one tokenizer."""

    tokenizer: str
    models: tuple[str, ...]
    tenant: str
    """The name of the folder; ``""`` for the tenant without a name."""
    generations: int
    tokens: int
    bytes: int
    files: int
    oldest: int | None
    newest: int | None


def holding(tokenizer: TokenizerFolder, folder: Path) -> Holding:
    """Counts by reading everything."""
    files = [path for path in folder.iterdir() if path.suffix in (SEGMENT, LOG)]
    times: list[int] = []
    tokens = 0
    for each in stored_generations(folder, tokenizer.tokenizer):
        times.append(each.time)
        tokens += len(each.tokens)
    return Holding(
        tokenizer.tokenizer,
        tuple(tokenizer.models),
        "" if folder.name == tenant_folder_name("") else folder.name,
        len(times),
        tokens,
        sum(path.stat().st_size for path in files if path.exists()),
        len(files),
        min(times, default=None),
        max(times, default=None),
    )
