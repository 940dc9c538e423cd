"""How much an archive may hold, and for how long."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reame_palimpsest.contexts import MOST_WORDS

_LIVE_WORDS = 1 << 16
_LEAST_WORDS = 1 << 10
_BYTES_A_WORD = 12
_LEAST_SEGMENTS = 8
"""The budget is kept by dropping whole segments, so it has to hold several."""
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Limits:
    """``size`` bytes on disk for everything, generations no older than ``ttl`` seconds."""

    size: int
    ttl: float = math.inf

    @classmethod
    def of(cls, max_size_mb: float, ttl_days: float | None) -> Limits:
        return cls(int(max_size_mb * 1_000_000), math.inf if ttl_days is None else ttl_days * _DAY)

    @property
    def segment_words(self) -> int:
        """Segments are not merged into larger ones."""
        fitting = self.size // (_BYTES_A_WORD * _LEAST_SEGMENTS)
        return min(MOST_WORDS, max(_LEAST_WORDS, fitting))

    @property
    def live_words(self) -> int:
        """As many words of a log are made a segment."""
        return min(_LIVE_WORDS, self.segment_words)

    def expired(self, now: float, slack: float = 0.0) -> int:
        """Generations up to this time are too old, by ``slack`` times what they may be."""
        return int(now - (1 + slack) * self.ttl) if math.isfinite(self.ttl) else -1
