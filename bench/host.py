"""The machine a benchmark ran on, and how much of it others used meanwhile (``CpuWatch``)."""

from __future__ import annotations

import os

from reame_bench import host as harness
from reame_bench.host import CpuWatch as CpuWatch

from reame_core.host.cpu import usable_threads
from reame_core.llama.bindings import build_version


def describe_host() -> dict[str, str]:
    """For the head of a report."""
    usable = usable_threads()
    return {
        **harness.describe_host(),
        "threads": f"{usable.threads} ({usable.why})",
        "build": build_version(),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }
