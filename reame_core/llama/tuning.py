"""Which weight buffers are fastest for a model on this host, found by trying.

llama.cpp can keep weights in another layout than the file's ("repacked"), which makes decoding faster and
prefill faster or slower, depending on the processor; some of its buffers crash on some processors. So each
candidate runs in a process of its own that may die, and the fastest that survived is remembered by model,
host and build.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from reame_core.llama.model import WeightBuffers

log = logging.getLogger("reame.llama")

REPACKABLE = ("Q4_K", "Q4_0", "Q8_0", "IQ4_NL", "Q2_K")
"""Types that ggml can repack on one processor or another."""
PROMPT_ROWS, ANSWER_TOKENS = 64, 64
"""The request whose time decides: this much prompt that nobody has computed before, this long an answer. What
prompts have in common is remembered, so decoding counts for more than in the requests themselves."""
WORTH_A_COPY = 0.97
"""Repacked weights are a second copy in memory: they have to be faster than this share of plain ones."""
_SECONDS_PER_GB = 120
_LEAST_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Speed:
    """Of one candidate, in milliseconds: a one-row batch, and one row of a large batch."""

    decode_ms: float
    prefill_ms: float

    @property
    def typical_request(self) -> float:
        return ANSWER_TOKENS * self.decode_ms + PROMPT_ROWS * self.prefill_ms


@dataclass(frozen=True, slots=True)
class Tensor:
    """What the choice needs to know of a tensor."""

    name: str
    type: str
    dimensions: int


def candidates(tensors: Iterable[Tensor]) -> list[WeightBuffers]:
    """Plain weights first, then everything worth trying for these tensors."""
    matrices = [t for t in tensors if t.dimensions == 2 and t.name.startswith("blk.")]
    found = [WeightBuffers(), WeightBuffers(extra=True)]
    for kind in REPACKABLE:
        names = tuple(t.name for t in matrices if t.type == kind)
        if names:
            found.append(WeightBuffers(repacked=names))
    return found


def measure(path: Path, buffers: WeightBuffers, threads: int, timeout: float) -> Speed | None:
    """The speed of one candidate in a child process; None where that crashed, failed or took too long."""
    job = json.dumps({"path": str(path), "threads": threads, **asdict(buffers)})
    try:
        child = subprocess.run(
            [sys.executable, "-m", "reame_core.llama.probe"],
            input=job,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if child.returncode != 0:
            log.info("weight buffers %s: the trial ended with status %d", buffers.label, child.returncode)
            return None
        return Speed(**json.loads(child.stdout))
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError) as error:
        log.info("weight buffers %s: no result (%s)", buffers.label, error)
        return None


def fastest(
    path: Path,
    tensors: Iterable[Tensor],
    threads: int,
    *,
    progress: Callable[[str], None],
    trial: Callable[[Path, WeightBuffers, int, float], Speed | None] = measure,
) -> WeightBuffers:
    """Try all candidates for ``path``; plain weights where nothing is clearly faster."""
    timeout = max(_LEAST_SECONDS, _SECONDS_PER_GB * path.stat().st_size / 1e9)
    best, best_time = WeightBuffers(), float("inf")
    for buffers in candidates(tensors):
        progress(f"measuring weight layouts for this machine, once: {buffers.label}")
        speed = trial(path, buffers, threads, timeout)
        if speed is None:
            continue
        log.info(
            "weight buffers %s: %.1f ms a token, %.0f prompt tokens/s",
            buffers.label,
            speed.decode_ms,
            1000 / speed.prefill_ms,
        )
        threshold = best_time * (WORTH_A_COPY if best == WeightBuffers() else 1)
        if speed.typical_request < threshold:
            best, best_time = buffers, speed.typical_request
    return best
