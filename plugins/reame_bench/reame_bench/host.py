"""The machine that a measurement ran on, and how much of it others used meanwhile."""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

_TELLING_FLAGS = (
    "avx", "avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_tile", "amx_int8", "f16c", "fma",
    "asimd", "asimddp", "i8mm", "sve", "sve2",
)  # fmt: skip
"""Those that decide which kernels of llama.cpp run."""
_PACKAGES = ("reame", "llama-cpp-python", "numpy")


def describe_host() -> dict[str, str]:
    """For the head of a report."""
    about = _cpuinfo()
    flags = set((about.get("flags") or about.get("Features") or "").split())
    return {
        "cpu": about.get("model name") or platform.processor() or platform.machine(),
        "flags": " ".join(flag for flag in _TELLING_FLAGS if flag in flags) or "unknown",
        "cores": f"{psutil.cpu_count(logical=False) or '?'} cores, {psutil.cpu_count()} threads, "
        f"{usable_cpus()} for this process",
        "memory": f"{psutil.virtual_memory().total / 1e9:.0f} GB",
        "os": platform.platform(terse=True),
        "python": f"{sys.implementation.name} {platform.python_version()}",
        "versions": ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
    }


def usable_cpus() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return psutil.cpu_count() or 1


def _cpuinfo() -> dict[str, str]:
    """The first processor in /proc/cpuinfo; empty elsewhere than on Linux."""
    try:
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(none)"


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
