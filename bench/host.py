"""The machine a benchmark ran on, and how much of it others used meanwhile."""

from __future__ import annotations

import os
import platform
import sys
import time

import psutil

from reame_core.host.cpu import cpu_name, usable_threads
from reame_core.llama.bindings import build_version


def describe_host() -> dict[str, str]:
    """For the head of a report."""
    usable = usable_threads()
    return {
        "cpu": cpu_name(),
        "cores": f"{psutil.cpu_count()} logical, {usable.threads} usable ({usable.why})",
        "memory": f"{psutil.virtual_memory().total / 1e9:.0f} GB",
        "os": platform.platform(),
        "python": f"{sys.implementation.name} {platform.python_version()}",
        "build": build_version(),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


class CpuWatch:
    """Tells what share of all processors other processes used since it was made. Ended child processes
    count as ours once they have been waited for."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._busy = _busy_everywhere()
        self._own = _busy_here()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def others_share(self) -> float:
        others = (_busy_everywhere() - self._busy) - (_busy_here() - self._own)
        return max(0.0, others / (self.seconds * (psutil.cpu_count() or 1)))


def _busy_everywhere() -> float:
    times = psutil.cpu_times()._asdict()
    # guest time is contained in user time
    return float(sum(times.get(kind, 0.0) for kind in ("user", "nice", "system", "irq", "softirq", "steal")))


def _busy_here() -> float:
    own = psutil.Process()
    total = sum(own.cpu_times()[:4])
    for child in own.children(recursive=True):
        try:
            total += sum(child.cpu_times()[:4])
        except psutil.NoSuchProcess:  # counted by its parent now
            continue
    return float(total)
