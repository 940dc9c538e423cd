"""The first start of a model: how long it takes to find the fastest setup, and how good what it finds is
against the best of a full sweep over weight layouts, threads and batch sizes. Every trial is a process."""

from __future__ import annotations

import time

from bench.case import Case
from bench.report import Figure, Result, Target
from bench.rounds import median
from reame_core.host.cpu import ThreadChoice, threads_to_try
from reame_core.llama.trials import Setup, Speed, try_out
from reame_core.llama.tuning import Tensor, candidates, tune


def measure(case: Case, result: Result) -> None:
    layouts = candidates(Tensor(t.name, t.type, len(t.shape)) for t in case.header.tensors)
    threads = threads_to_try(ThreadChoice(case.threads, ""))
    started = time.perf_counter()
    tuning = tune(case.path, layouts, threads, progress=case.progress)
    seconds = time.perf_counter() - started
    chosen = tuning.best.setup
    working = [
        o.setup.buffers for o in tuning.outcomes if o.speed is not None and o.setup.threads == threads[0]
    ]
    sweep = [
        Setup(threads=count, buffers=buffers, batch_rows=rows)
        for buffers in working
        for count in sorted({1, *threads})
        for rows in (128, 512)
    ]
    speeds: dict[Setup, list[Speed]] = {setup: [] for setup in sweep}
    for _ in range(case.rounds):
        for setup in sweep:
            if (speed := try_out(case.path, setup).speed) is not None:
                speeds[setup].append(speed)
    times = {setup: median([s.typical_request for s in found]) for setup, found in speeds.items() if found}
    best = min(times, key=lambda setup: times[setup])
    result.figures += [
        Figure("finding it", seconds, "s", target=Target("≤", 20)),
        Figure("best of the sweep / found, speed", times[best] / times[chosen], target=Target("≥", 0.97)),
    ]
    result.figures += [
        Figure(f"{s.buffers.label}, {s.threads} threads, batches of {s.batch_rows}", ms / 1000, "s a request")
        for s, ms in sorted(times.items(), key=lambda item: item[1])
    ]
    result.notes.append(
        f"found: {chosen.buffers.label}, {chosen.threads} threads; a request is 64 tokens in and out"
    )
