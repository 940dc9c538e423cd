"""What kind of machine this is, for people: processors, memory, disk, neighbours."""

from __future__ import annotations

import mmap
import os
import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from reame_core.host.cgroup import ROOT, cpu_quota, memory_left, read_text
from reame_core.host.cpu import cpu_name, usable_threads
from reame_core.host.neighbours import INTERVAL, Neighbours

_READ_BYTES = 256 << 20
_PIECE = 8 << 20


@dataclass(frozen=True, slots=True)
class Machine:
    """Memory in bytes, processors in numbers of them."""

    system: str
    cpu: str
    features: frozenset[str]
    """Instruction sets and other flags, as the kernel calls them."""
    logical: int
    threads: int
    """How many Reame would use, with the reason in ``threads_why``."""
    threads_why: str
    quota: float | None
    """Processors' worth of time that a control group allows, None without a limit."""
    numa_nodes: int
    memory: int
    memory_free: int
    memory_left: int | None
    """What a control group still allows, None without a limit."""
    virtual: bool
    stolen: float
    """Share of the time since the machine started that a hypervisor gave to others."""


def this_machine(root: Path = ROOT) -> Machine:
    """What can be seen from this process."""
    choice = usable_threads(root)
    memory = psutil.virtual_memory()
    features = _features(root)
    times = psutil.cpu_times()
    total = sum(times) or 1.0
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        cpu=cpu_name(root),
        features=features,
        logical=psutil.cpu_count() or 1,
        threads=choice.threads,
        threads_why=choice.why,
        quota=cpu_quota(root),
        numa_nodes=max(1, len(list((root / "sys/devices/system/node").glob("node[0-9]*")))),
        memory=memory.total,
        memory_free=memory.available,
        memory_left=memory_left(root),
        virtual="hypervisor" in features,
        stolen=getattr(times, "steal", 0.0) / total,
    )


def _features(root: Path) -> frozenset[str]:
    for line in (read_text(root / "proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() in ("flags", "features"):
            return frozenset(value.split())
    return frozenset()


def busy_neighbours(sleep: Callable[[float], None] = time.sleep) -> float:
    """How many processors others keep busy now; takes a moment."""
    neighbours = Neighbours()
    neighbours.busy_cores()
    sleep(2 * INTERVAL)
    return neighbours.busy_cores() or 0.0


def free_space(folder: Path) -> int:
    """Bytes free where ``folder`` is, or would be."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def read_speed(path: Path, clock: Callable[[], float] = time.perf_counter) -> float | None:
    """Bytes a second at which ``path`` comes from its disk, not from memory; None where that cannot be told:
    the file is small, or its file system has no direct reads."""
    size = min(path.stat().st_size, _READ_BYTES)
    if size < _PIECE or not hasattr(os, "O_DIRECT"):
        return None
    try:
        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError:
        return None
    try:
        with mmap.mmap(-1, _PIECE) as piece:  # direct reads need whole pages
            started = clock()
            read = 0
            while read + _PIECE <= size and (got := os.readv(file, [piece])):
                read += got
            seconds = clock() - started
    except OSError:
        return None
    finally:
        os.close(file)
    return read / seconds if seconds else None
