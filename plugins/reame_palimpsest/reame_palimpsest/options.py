"""The plugins' tables in the configuration."""

from __future__ import annotations

from typing import Annotated

import msgspec

from reame_palimpsest.contexts import GRAM
from reame_palimpsest.generations import LONGEST_MATCH


class LookupOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[plugins.prompt-lookup]``"""

    min_match: Annotated[int, msgspec.Meta(ge=2, le=LONGEST_MATCH)] = 2
    """Tokens that have to be repeated before what followed them is proposed."""


class ArchiveOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[plugins.palimpsest]``"""

    folder: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    """Where the archive lies; None for ``palimpsest`` in the user's state folder."""
    max_size_mb: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 1024
    """On disk; the oldest generations go first. 0 archives nothing."""
    ttl_days: Annotated[float, msgspec.Meta(gt=0, le=36_500)] | None = None
    """Older generations are neither used nor kept; None for no limit."""
    min_match: Annotated[int, msgspec.Meta(ge=GRAM, le=LONGEST_MATCH)] = GRAM
    """Tokens that have to be repeated before what followed them is proposed."""
    archive: bool = True
    """False draws on what is there and adds nothing."""
