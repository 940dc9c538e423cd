"""The table ``[plugins.diskkv]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from reame_core.config import plugin_options


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """See docs/diskkv.md."""

    folder: Annotated[str, Meta(min_length=1)] | None = None
    """Where blocks are kept; None for ``diskkv`` in the user's cache folder."""
    max_size_mb: Annotated[float, Meta(ge=0)] = 10_240
    """Megabytes on disk; 0 turns the cache off."""
    block_tokens: Annotated[int, Meta(ge=4, le=1024)] = 128
    min_tokens: Annotated[int, Meta(ge=1)] = 32
    """Shorter texts are stored only where somebody asks for it."""
    level: Annotated[int, Meta(ge=-7, le=19)] = 1
    """Of zstd."""
    queue_mb: Annotated[float, Meta(ge=1)] = 256
    """Megabytes of cells that may wait to be written; what is more is not stored."""
    ttl_days: Annotated[float, Meta(gt=0)] | None = None
    """Remove what was not used for so many days."""
    fsync: bool = False
    """Whether blocks must survive a power failure. Without it a damaged block is a miss."""


def read_options(table: Mapping[str, object]) -> Options:
    """The options of a table, texts from the environment included. Raises ConfigError."""
    return plugin_options.read_options("diskkv", table, Options)
