"""How much memory there is, and how many cells of KV memory fit into it.

What has to fit is the KV memory and what llama.cpp needs while computing. Weights mapped from their file
need not: the kernel drops and rereads their pages, and *available* counts them as free. But then each
token rereads them from the disk, so cells beyond the least a plan needs are only given out where the
weights fit beside them, and a plan without room for the weights carries a warning.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reame_core.errors import NotEnoughMemory
from reame_core.host.cgroup import ROOT, memory_left, read_text

if TYPE_CHECKING:
    from pathlib import Path

COMPUTE_BYTES = 150_000_000
"""Buffers of llama.cpp and this process's own needs, as measured with models up to 2 B parameters."""

_STEP = 256
"""llama.cpp rounds the number of cells up to a multiple of this."""


@dataclass(frozen=True, slots=True)
class KVPlan:
    """How many cells to ask llama.cpp for."""

    cells: int
    kv_bytes: int
    """What they take; 0 where that is not known."""
    warning: str = ""
    """A sentence for the log where the plan will run, but not well."""


def available_memory(root: Path = ROOT) -> int:
    """Bytes that can still be used without swapping: what the system has available, or less where a control
    group limits this process."""
    left = memory_left(root)
    system = _system_available(root)
    return system if left is None else min(left, system)


def kv_plan(
    *,
    bytes_per_token: int | None,
    model_bytes: int,
    context_length: int,
    parallel: int,
    available: int,
    wanted_cells: int | None = None,
    minimum_cells: int | None = None,
    weights_mapped: bool = True,
) -> KVPlan:
    """The cells of KV memory to ask llama.cpp for: as many of ``context_length`` times ``parallel`` as
    memory has room for, at least ``minimum_cells``, by default one full context (users then wait for each
    other's cells). ``wanted_cells`` are taken as they are, or refused.

    ``weights_mapped`` False is for weights that are copied or locked: they have to fit in any case.
    ``bytes_per_token`` None (unknown) plans all cells. Raises NotEnoughMemory, which says what would fit."""
    wanted = wanted_cells or context_length * parallel
    if not bytes_per_token:
        return KVPlan(wanted, 0)
    minimum = wanted_cells or minimum_cells or context_length
    weights = 0 if weights_mapped else model_bytes
    room = max(available - COMPUTE_BYTES - weights, 0)
    if minimum * bytes_per_token > room:
        needs = _needs(minimum * bytes_per_token, room, available, weights)
        fitting = room // bytes_per_token
        if wanted_cells:
            raise NotEnoughMemory(f"kv_cells {wanted_cells} {needs}: {_advice('kv_cells', fitting)}")
        users = max(minimum // context_length, 1)
        asked = f"context_length {context_length}" + (f" × parallel {users}" if users > 1 else "")
        raise NotEnoughMemory(f"{asked} {needs}: {_advice('--context-length', fitting // users)}")

    beside_weights = max(available - COMPUTE_BYTES - model_bytes, 0)
    cells = wanted
    if wanted * bytes_per_token > beside_weights:
        cells = min(max(beside_weights // bytes_per_token // _STEP * _STEP, minimum), wanted)
    warning = ""
    if cells * bytes_per_token > beside_weights:
        warning = (
            f"the weights ({byte_count(model_bytes)}) do not fit in memory beside the KV memory: "
            f"{byte_count(available)} is available, so they will be reread from the disk"
        )
    elif cells < wanted:
        warning = (
            f"memory has room for {cells} of {wanted} cells of KV memory: "
            "long conversations of several users will wait for each other"
        )
    return KVPlan(cells, cells * bytes_per_token, warning)


def mlock_problem(model_bytes: int, limit: int | None = None) -> str | None:
    """None where weights of this size can be locked in memory, else a sentence with consequence and remedy.
    ``limit`` stands for the bytes this process may lock, by default those it may."""
    limit = _lock_limit() if limit is None else limit
    if limit is None or limit >= model_bytes:
        return None
    return (
        f"the weights are not locked in memory ({byte_count(limit)} may be locked, {byte_count(model_bytes)} "
        "is needed), so under memory pressure answers become slow: raise the limit with `ulimit -l` or "
        "systemd's LimitMEMLOCK="
    )


def byte_count(count: int) -> str:
    """``count`` bytes for people, such as ``458 MB``."""
    for unit, size in (("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000)):
        if count >= size:
            value = count / size
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{count} bytes"


def _needs(needed: int, room: int, available: int, weights: int) -> str:
    beside = f"{byte_count(weights)} of weights and " if weights else ""
    return (
        f"needs {byte_count(needed)} of KV memory, {byte_count(room)} is available "
        f"({byte_count(available)} less {beside}{byte_count(COMPUTE_BYTES)} for computing)"
    )


def _advice(setting: str, cells: int) -> str:
    fitting = cells // _STEP * _STEP
    if fitting == 0:
        return f"not even {_STEP} tokens would fit, free memory or choose a smaller model"
    return f"{setting} {fitting} would fit"


def _system_available(root: Path) -> int:
    for line in (read_text(root / "proc/meminfo") or "").splitlines():
        name, _, value = line.partition(":")
        number = value.split()[0] if value.split() else ""
        if name == "MemAvailable" and number.isdigit():
            return int(number) * 1024
    import psutil  # macOS and others, where there is no /proc

    return int(psutil.virtual_memory().available)


def _lock_limit() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft == resource.RLIM_INFINITY or os.geteuid() == 0:
        return None
    return soft
