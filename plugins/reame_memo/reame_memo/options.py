"""The plugin's table in the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from reame_core.config.directories import directories


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[plugins.memo]``"""

    folder: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    """Where answers lie; None for ``memo`` in the user's cache folder."""
    max_size_mb: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 256
    """On disk; the answers that were not wanted for longest go first. 0 keeps none."""
    ttl_days: Annotated[float, msgspec.Meta(gt=0, le=36_500)] = 30
    """Older answers are neither given nor kept."""
    longest_kb: Annotated[float, msgspec.Meta(gt=0, le=65_536)] = 256
    """Longer answers are not kept."""
    seeded: bool = False
    """Keep sampled answers too, where the request has a seed."""
    wait_s: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 300
    """Longest that a request waits for another one that computes the same; 0 does not wait."""

    @property
    def path(self) -> Path:
        """The folder, whether it is there or not."""
        return Path(self.folder).expanduser() if self.folder else directories().cache / "memo"
