"""When not to ask a store any more, and when again."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable


class CircuitBreaker:
    """Closed, questions are asked. It opens when ``failures`` of the last ``window`` questions went wrong;
    nobody
    asks then. After a pause somebody in the background may probe, with questions that no request waits for;
    ``good_probes`` right ones in a row close it, and a wrong one doubles the pause, up to ``longest_pause_s``.

    ``clock`` tells seconds. For any thread.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        failures: int = 3,
        window: int = 20,
        pause_s: float = 0.5,
        longest_pause_s: float = 30.0,
        good_probes: int = 2,
    ) -> None:
        self._clock = clock
        self._failures = failures
        self._recent: deque[bool] = deque(maxlen=window)
        self._first_pause = pause_s
        self._longest_pause = longest_pause_s
        self._wanted_probes = good_probes
        self._lock = threading.Lock()
        self._open = False
        self._pause = pause_s
        self._probe_at = 0.0
        self._good_probes = 0
        self.opened = 0
        """How often it has opened."""

    @property
    def closed(self) -> bool:
        """Whether questions are to be asked."""
        return not self._open

    def succeeded(self) -> None:
        """A question was answered in time."""
        with self._lock:
            self._recent.append(True)

    def failed(self) -> bool:
        """A question was not answered, not in time, or not in a way that makes sense; whether that has opened
        it."""
        with self._lock:
            if self._open:
                return False
            self._recent.append(False)
            if self._recent.count(False) < self._failures:
                return False
            self._open = True
            self.opened += 1
            self._recent.clear()
            self._pause = self._first_pause
            self._wait_for_probe()
            return True

    def seconds_to_probe(self) -> float | None:
        """How long to wait before the next probe; None while closed."""
        with self._lock:
            return max(0.0, self._probe_at - self._clock()) if self._open else None

    def probed(self, good: bool) -> bool:
        """What came of a probe; whether it is closed again."""
        with self._lock:
            if not self._open:
                return True
            if not good:
                self._pause = min(2 * self._pause, self._longest_pause)
                self._wait_for_probe()
                return False
            self._good_probes += 1
            if self._good_probes >= self._wanted_probes:
                self._open = False
            return not self._open

    def _wait_for_probe(self) -> None:
        self._good_probes = 0
        self._probe_at = self._clock() + self._pause
