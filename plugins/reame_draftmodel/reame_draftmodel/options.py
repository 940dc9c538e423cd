"""The plugin's table in the configuration."""

from __future__ import annotations

from typing import Annotated

import msgspec

NAME = "draftmodel"


class DraftModelOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[plugins.draftmodel]``"""

    model: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    """A GGUF file or a name of the catalogue; without it the plugin does nothing."""
    context_length: Annotated[int, msgspec.Meta(ge=64, le=1 << 24)] | None = None
    """Cells of KV memory for all users together; None for as many as the served model has."""
    threads: Annotated[int, msgspec.Meta(ge=1, le=1024)] | None = None
    """None for as many as the served model computes with."""
    max_draft: Annotated[int, msgspec.Meta(ge=1, le=64)] = 63
    """Tokens in one draft; what pays is decided by the core, and is often less. One more would begin another
    block of 64 rows, with the newest token in front."""
    p_min: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.4
    """A draft ends before a token that will be right less often than this, as the plugin has learned from those
    that the small model gave about as much."""
