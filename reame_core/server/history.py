"""How much was computed and how much was not, over the life of the server, for the status page.

Everything here runs on the event loop.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

_POINTS = 120
_WINDOW_S = 5.0


@dataclass(slots=True)
class Totals:
    """Since the start of the server. Tokens, of prompts and of drafts, and seconds."""

    computed: int = 0
    reused: dict[str, int] = field(default_factory=dict)
    """By where they came from: ``ram`` or a plugin."""
    generated: int = 0
    drafted: dict[str, int] = field(default_factory=dict)
    accepted: dict[str, int] = field(default_factory=dict)
    seconds_avoided: float = 0.0

    def copy(self) -> Totals:
        return Totals(
            self.computed,
            dict(self.reused),
            self.generated,
            dict(self.drafted),
            dict(self.accepted),
            self.seconds_avoided,
        )


class History:
    """The totals at up to 120 moments, evenly spread over the whole life whatever its length. ``clock`` gives
    seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.totals = Totals()
        self._clock = clock
        self._begun = clock()
        self._interval = 1.0
        self._points: list[tuple[float, Totals]] = [(0.0, Totals())]

    @property
    def age(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._begun

    def changed(self) -> None:
        """To be called after each change of ``totals``."""
        now = self.age
        last = self._points[-1][0]
        if now - last < self._interval and len(self._points) > 1:
            self._points[-1] = (last, self.totals.copy())
            return
        if now - last > 2 * self._interval:
            # Nothing happened in between: the line stays level until now.
            self._points.append((now - self._interval, self._points[-1][1]))
        self._points.append((now, self.totals.copy()))
        while len(self._points) > _POINTS:
            self._interval *= 2
            self._thin_out()

    def _thin_out(self) -> None:
        kept = self._points[:1]
        for point in self._points[1:-1]:
            if point[0] - kept[-1][0] >= self._interval:
                kept.append(point)
        self._points = [*kept, self._points[-1]]

    def points(self) -> list[tuple[float, Totals]]:
        """Seconds since the start, and the totals then; the last one is now."""
        return [*self._points, (self.age, self.totals)]


class Throughput:
    """Tokens a second over the last few seconds. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._delivered: deque[tuple[float, int]] = deque()
        self._count = 0

    def delivered(self, count: int) -> None:
        """``count`` tokens have come from the engine."""
        now = self._clock()
        self._delivered.append((now, count))
        self._count += count
        self._forget(now)

    def rate(self) -> float:
        """Of all choices together."""
        now = self._clock()
        self._forget(now)
        return self._count / max(1.0, now - self._delivered[0][0]) if self._delivered else 0.0

    def _forget(self, now: float) -> None:
        while self._delivered and self._delivered[0][0] < now - _WINDOW_S:
            self._count -= self._delivered.popleft()[1]
