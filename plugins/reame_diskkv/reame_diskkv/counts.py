"""What happened, in numbers: for metrics, reports and tests. Each is changed by one thread."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Counts:
    """Since this process started."""

    lookups: int = 0
    """Prompts that were looked up."""
    hits: int = 0
    """Those of which something was restored."""
    wanted_tokens: int = 0
    """Tokens of looked-up prompts that memory did not have."""
    restored_tokens: int = 0
    restored_bytes: int = 0
    restore_seconds: float = 0.0
    unprofitable: int = 0
    """Prompts that were computed although stored, because that is faster here."""
    exported_blocks: int = 0
    exported_bytes: int = 0
    export_seconds: float = 0.0
    """What exporting took of the engine's time."""
    dropped: int = 0
    """Blocks not stored because the writer was too far behind."""
    written_blocks: int = 0
    written_bytes: int = 0
    """In files."""
    write_seconds: float = 0.0
    evicted: int = 0
    expired: int = 0
    too_large: int = 0
    """Blocks not stored because nothing could make room for them."""
    far_lookups: int = 0
    """Prompts of which the far tier was asked for more."""
    far_hits: int = 0
    """Those of which it had something worth fetching."""
    far_blocks: int = 0
    """Blocks fetched from there."""
    far_bytes: int = 0
    far_unprofitable: int = 0
    """Prompts that were computed although the far tier has them, because that is faster here."""
    far_late: int = 0
    """Prompts that were computed because nothing came in time."""
    failures: Counter[str] = field(default_factory=Counter)
    """What went wrong, by kind: ``damaged``, ``refused``, ``read``, ``write``, ``index``, ``far``."""
