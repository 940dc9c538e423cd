"""How many threads to compute with on this machine, and why that many."""

from __future__ import annotations

import os
import platform
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from reame_core.errors import ConfigError
from reame_core.host.cgroup import ROOT, cpu_quota, read_text

_MOST_PER_CPU = 2


@dataclass(frozen=True, slots=True)
class ThreadChoice:
    """A number of threads with the reason for it, for the log."""

    threads: int
    why: str


def usable_threads(root: Path = ROOT, affinity: Set[int] | None = None) -> ThreadChoice:
    """One thread for each physical core this process may run on, no more than its CPU quota pays for.

    Two threads of one core share its arithmetic units, and a thread beyond the quota makes all others wait
    at every barrier. ``affinity`` stands for the processors the process may use, by default those it may."""
    allowed = _allowed() if affinity is None else affinity
    cores = _physical_cores(allowed, root)
    quota = cpu_quota(root)
    counted = _plural(cores, "physical core")
    if len(allowed) < _logical_cpus(root, allowed):
        counted += f" among the {_plural(len(allowed), 'processor')} this process is bound to"
    if quota is None or int(quota) >= cores:
        return ThreadChoice(cores, f"{counted}, one thread each")
    threads = max(1, int(quota))
    return ThreadChoice(threads, f"the CPU quota is worth {quota:g} of {counted}")


def clamp_threads(requested: int | None, root: Path = ROOT, affinity: Set[int] | None = None) -> ThreadChoice:
    """The number of threads asked for; None, 0 and -1 leave the choice to ``usable_threads``.

    Raises ConfigError for what no machine can mean: other negative numbers, and more than twice the
    processors there are, where llama.cpp gets many times slower or stands still."""
    if requested in (None, 0, -1):
        return usable_threads(root, affinity)
    assert requested is not None
    available = len(_allowed() if affinity is None else affinity)
    most = available * _MOST_PER_CPU
    if not 0 < requested <= most:
        raise ConfigError(
            f"threads is {requested}: with {_plural(available, 'processor')} it can be 1 to {most}, "
            "or 0 for automatic"
        )
    quota = cpu_quota(root)
    if quota is not None and requested > max(1, int(quota)):
        return ThreadChoice(requested, f"as configured, though the CPU quota pays only for {quota:g}")
    return ThreadChoice(requested, "as configured")


def threads_to_try(choice: ThreadChoice, root: Path = ROOT, affinity: Set[int] | None = None) -> list[int]:
    """``choice`` first, then other numbers that may be faster: a thread for each logical processor, where cores
    have several and the quota pays for them."""
    allowed = len(_allowed() if affinity is None else affinity)
    quota = cpu_quota(root)
    most = allowed if quota is None else min(allowed, max(1, int(quota)))
    return [choice.threads] if most <= choice.threads else [choice.threads, most]


def cpu_name(root: Path = ROOT) -> str:
    """What the processor calls itself; for records of measurements."""
    facts: dict[str, str] = {}
    for line in (read_text(root / "proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip().lower(), " ".join(value.split()))
    for key in ("model name", "hardware", "cpu model", "cpu"):
        if facts.get(key):
            return facts[key]
    arm = [facts[key] for key in ("cpu implementer", "cpu part", "cpu revision") if facts.get(key)]
    return " ".join([platform.processor() or platform.machine() or "unknown", *arm])


def _allowed() -> Set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _logical_cpus(root: Path, allowed: Set[int]) -> int:
    online = _cpu_list(read_text(root / "sys/devices/system/cpu/online") or "")
    return len(online) or len(allowed)


def _physical_cores(allowed: Set[int], root: Path) -> int:
    cores = {_siblings(cpu, root) for cpu in allowed}
    if None in cores:
        return max(1, _counted_elsewhere(len(allowed), root))
    return max(1, len(cores))


def _siblings(cpu: int, root: Path) -> frozenset[int] | None:
    topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
    for name in ("core_cpus_list", "thread_siblings_list"):
        together = _cpu_list(read_text(topology / name) or "")
        if cpu in together:
            return frozenset(together)
    return None


def _counted_elsewhere(allowed: int, root: Path) -> int:
    if (root / "proc").exists():
        return allowed
    import psutil  # macOS and others, where there is no /proc

    return min(psutil.cpu_count(logical=False) or allowed, allowed)


def _cpu_list(text: str) -> set[int]:
    """``0-3,8`` as the kernel writes it."""
    cpus: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
