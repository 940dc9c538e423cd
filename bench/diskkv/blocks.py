"""Sizes of blocks: what exporting adds to computing a prompt, how fast it is restored (from files to memory,
everything verified), and how many files that takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from bench.caching import caching
from bench.case import Case
from bench.diskkv.files import block_files
from bench.report import Figure, Result, Target
from bench.rounds import rounds

LENGTH = 1024
SIZES = (64, 128, 256)


@dataclass(frozen=True, slots=True)
class _Cost:
    added: float
    """Percent that exporting takes of computing."""
    rate: float
    """GB/s of restoring."""
    files: int


def measure(case: Case, result: Result) -> None:
    prompt = case.prompt(case.size(LENGTH))
    contestants = {size: partial(_cost, case, prompt, size) for size in SIZES}
    costs = rounds(case.rounds, contestants, case.quiet)
    for size in SIZES:
        result.figures += [
            Figure.of(
                f"{size} tokens: exporting / computing", [c.added for c in costs[size]], "%", Target("≤", 1.0)
            ),
            Figure.of(f"{size} tokens: restoring", [c.rate for c in costs[size]], "GB/s", Target("≥", 1.0)),
            Figure(f"{size} tokens: files", costs[size][0].files, ""),
        ]
    result.notes.append(f"a prompt of {len(prompt)} tokens")
    result.notes.append(f"weight buffers: {case.buffers.label}")


def _cost(case: Case, prompt: tuple[int, ...], size: int) -> _Cost:
    place = case.new_folder()
    with caching(case, place, block_tokens=size) as first:
        seconds = first.ask(prompt).seconds
        added = 100 * first.counts.export_seconds / seconds
        first.flush()
    with caching(case, place, block_tokens=size) as again:
        again.ask(prompt)
        rate = again.counts.restored_bytes / again.counts.restore_seconds / 1e9
    return _Cost(added, rate, len(list(block_files(place))))
