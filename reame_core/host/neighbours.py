"""How much of this process's processors other processes use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

INTERVAL = 0.25
"""Seconds between two looks. The kernel counts time in hundredths of a second."""


@dataclass(frozen=True, slots=True)
class ProcessorTimes:
    """Seconds since the machine started: of the processors this process may use, in which they did not idle,
    and in which they worked for this process. What a hypervisor gave to other machines counts as work."""

    busy: float
    own: float


def processor_times() -> ProcessorTimes:
    """As they are now."""
    everything = psutil.cpu_times(percpu=True)
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(len(everything)))
    busy = 0.0
    for number, times in enumerate(everything):
        if number in allowed:
            # The time of guests is part of that of users.
            named = times._asdict()
            idle = named["idle"] + named.get("iowait", 0.0)
            guests = named.get("guest", 0.0) + named.get("guest_nice", 0.0)
            busy += sum(named.values()) - idle - guests
    own = psutil.Process().cpu_times()
    return ProcessorTimes(busy, own.user + own.system)


class Neighbours:
    """Looks at most once every ``INTERVAL``. For one thread."""

    def __init__(
        self,
        read: Callable[[], ProcessorTimes] = processor_times,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._clock = clock
        self._seen: tuple[float, ProcessorTimes] | None = None

    def busy_cores(self) -> float | None:
        """How many processors others kept busy, on average since the last look; None where that is too short
        ago, or long ago: what happened while nobody computed here says nothing about now."""
        now = self._clock()
        if self._seen is not None and now - self._seen[0] < INTERVAL:
            return None
        then, self._seen = self._seen, (now, self._read())
        if then is None or now - then[0] > 8 * INTERVAL:
            return None
        before, after = then[1], self._seen[1]
        return max(0.0, (after.busy - before.busy - (after.own - before.own)) / (now - then[0]))
