"""How fast requests leave the queue, for an honest answer to "when shall I come back?"."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

_REMEMBERED = 64
_LONGEST = 120
"""Clients give up on longer ones altogether."""
_WITHOUT_EXPERIENCE = 5


class Pace:
    """Fed with the end of each choice. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._begun = clock()
        self._ends: deque[float] = deque(maxlen=_REMEMBERED)

    def ended(self) -> None:
        """A choice has made room for another one."""
        self._ends.append(self._clock())

    def retry_after(self, waiting: int) -> int:
        """Seconds in which, at the rate of late, a tenth of ``waiting`` choices will have left the queue: then
        there is room again, for some of those who were refused."""
        if not self._ends:
            return _WITHOUT_EXPERIENCE
        since = self._ends[0] if len(self._ends) == _REMEMBERED else self._begun
        rate = len(self._ends) / max(self._clock() - since, 0.001)
        return min(_LONGEST, max(1, math.ceil(max(1, waiting / 10) / rate)))
