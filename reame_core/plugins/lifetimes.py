"""How long hooks and their arguments last: since when there is one, and until when.

Imported by the hooks themselves: it must import nothing of Reame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Deprecation:
    """The announcement that something will go. It works in the minor version that announces it, and goes with
    the next one at the earliest."""

    since: str
    """The API version that says so first, such as ``0.2``."""
    removed: str
    """The API version that will not have it any more."""
    instead: str
    """What to use: its name."""

    def sentence(self, what: str) -> str:
        """For whoever uses ``what``."""
        return f"{what} is deprecated since {self.since} and goes in {self.removed}: use {self.instead} instead"


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Of one hook."""

    since: str
    """The API version that had it first."""
    first_counts: bool = False
    """Whether the first answer that is not None ends the search."""
    deprecated: Deprecation | None = None
    arguments: Mapping[str, Deprecation] = field(default_factory=dict)
    """Deprecated arguments, by name. They are passed until they go."""
