"""The machine a benchmark ran on, and how much of it others used meanwhile (``CpuWatch``)."""

from __future__ import annotations

import os
import platform
import sys

import psutil
from reame_bench.host import CpuWatch as CpuWatch

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
