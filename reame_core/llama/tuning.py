"""Which weight buffers and how many threads are fastest for a model on this host, found by trying.

llama.cpp can keep weights in another layout than the file's ("repacked"), which makes decoding faster and
prefill faster or slower, depending on the processor; some of its buffers crash on some processors. So each
candidate runs in a process of its own that may die, and the fastest that survived is remembered by model,
host and build.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reame_core.llama.model import WeightBuffers
from reame_core.llama.trials import Outcome, Setup, Trial, try_out

log = logging.getLogger("reame.llama")

REPACKABLE = ("Q4_K", "Q4_0", "Q8_0", "IQ4_NL", "Q2_K")
"""Types that ggml can repack on one processor or another."""
WORTH_A_COPY = 0.97
"""Repacked weights are a second copy in memory: they have to be faster than this share of plain ones. Another
number of threads than one a core, or another attention, has to be as much better."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """What the choice needs to know of a tensor."""

    name: str
    type: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Tuning:
    """``best`` of all ``outcomes``; with a speed unless nothing survived."""

    best: Outcome
    outcomes: tuple[Outcome, ...]


def candidates(tensors: Iterable[Tensor]) -> list[WeightBuffers]:
    """Plain weights first, then everything worth trying for these tensors."""
    matrices = [t for t in tensors if t.dimensions == 2 and t.name.startswith("blk.")]
    found = [WeightBuffers(), WeightBuffers(extra=True)]
    for kind in REPACKABLE:
        names = tuple(t.name for t in matrices if t.type == kind)
        if names:
            found.append(WeightBuffers(repacked=names))
    return found


def tune(
    path: Path,
    buffers: Sequence[WeightBuffers],
    threads: Sequence[int],
    attention: Sequence[bool] = (True,),
    *,
    progress: Callable[[str], None],
    trial: Trial = try_out,
) -> Tuning:
    """Try ``buffers`` with the first of ``threads`` and of ``attention`` (flash attention or not), then the
    other numbers of threads with the best buffers, and the other kind of attention with the best of both. The
    first of each stays unless another one is clearly faster."""
    search = _Search(path, progress, trial)
    first = Setup(threads=threads[0], buffers=buffers[0], flash_attention=attention[0])
    best = search.first(first, f"weights {buffers[0].label}")
    for layout in buffers[1:]:
        best = search.better(best, replace(best.setup, buffers=layout), f"weights {layout.label}")
    for count in threads[1:]:
        best = search.better(best, replace(best.setup, threads=count), f"{count} threads")
    for flash in attention[1:]:
        label = f"flash attention {'on' if flash else 'off'}"
        best = search.better(best, replace(best.setup, flash_attention=flash), label)
    return Tuning(best, tuple(search.outcomes))


class _Search:
    def __init__(self, path: Path, progress: Callable[[str], None], trial: Trial) -> None:
        self._path = path
        self._progress = progress
        self._trial = trial
        self.outcomes: list[Outcome] = []

    def first(self, setup: Setup, label: str) -> Outcome:
        """What everything else is compared with."""
        self._progress(f"measuring what is fastest on this machine, once: {label}")
        outcome = self._trial(self._path, setup)
        self.outcomes.append(outcome)
        if outcome.speed is None:
            log.info("%s: %s", label, outcome.failure)
        else:
            log.info(
                "%s: %.1f ms a token, %.0f prompt tokens/s",
                label,
                outcome.speed.decode_ms,
                1000 / outcome.speed.prefill_ms,
            )
        return outcome

    def better(self, best: Outcome, setup: Setup, label: str) -> Outcome:
        """The outcome of ``setup`` if it is the better one, else ``best``."""
        outcome = self.first(setup, label)
        if outcome.speed is None:
            return best
        if best.speed is None:
            return outcome
        other_copy = setup.buffers != best.setup.buffers and best.setup.buffers != WeightBuffers()
        limit = best.speed.typical_request * (1 if other_copy else WORTH_A_COPY)
        return outcome if outcome.speed.typical_request < limit else best
