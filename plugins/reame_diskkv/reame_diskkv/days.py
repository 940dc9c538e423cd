"""What was written and read on each day: a cache wears disks, and should be worth it."""

from __future__ import annotations

from datetime import UTC, datetime

from reame_diskkv.counts import Counts
from reame_diskkv.index import Index

_FIELDS = ("written_blocks", "written_bytes", "lookups", "hits", "wanted_tokens", "restored_tokens")


class DayBook:
    """Carries ``counts`` into the index, bit by bit."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._written = (0,) * len(_FIELDS)

    @property
    def has_news(self) -> bool:
        """Whether anything was counted since the last time."""
        return self._now() != self._written

    def write(self, index: Index, moment: float) -> None:
        """Add what is new to the day of ``moment``. Raises what the index raises."""
        now = self._now()
        fresh = [a - b for a, b in zip(now, self._written, strict=True)]
        day = datetime.fromtimestamp(moment, UTC).date().isoformat()
        sums = ", ".join(f"{name} = {name} + excluded.{name}" for name in _FIELDS)
        index.run(
            f"INSERT INTO day (day, {', '.join(_FIELDS)}) VALUES (?{', ?' * len(_FIELDS)}) "
            f"ON CONFLICT (day) DO UPDATE SET {sums}",
            (day, *fresh),
        )
        self._written = now

    def _now(self) -> tuple[int, ...]:
        return tuple(getattr(self._counts, name) for name in _FIELDS)
