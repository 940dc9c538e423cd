"""A busy neighbour: decoding through the engine beside one process that computes all the time, against
decoding on an idle machine, for several ways of OpenMP's threads to wait. Each way is a process of its own,
since libgomp reads its variables when it is loaded."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from bench.case import Case
from bench.report import Figure, Result, Target
from bench.rounds import ratios, rounds
from bench.worker import Worker
from reame_core.llama.bindings import SPIN_COUNT

PROMPT, TOKENS, MOST_SECONDS = 64, 48, 8.0
REAME, LIBRARY = f"Reame ({SPIN_COUNT})", "library default"
OTHERS = {
    "spin 100": {"GOMP_SPINCOUNT": "100"},
    "spin 10000": {"GOMP_SPINCOUNT": "10000"},
    "passive": {"OMP_WAIT_POLICY": "passive"},
}


def measure(case: Case, result: Result) -> None:
    tokens = case.size(TOKENS)
    with ExitStack() as stack:
        workers = {
            name: stack.enter_context(
                Worker(
                    case.path,
                    case.threads,
                    case.buffers,
                    environ=OTHERS.get(name),
                    library_first=name == LIBRARY,
                )
            )
            for name in (REAME, LIBRARY, *OTHERS)
        }
        for worker in workers.values():
            worker.request(PROMPT, 4)
        runs = {(name, False): partial(_idle, worker, tokens) for name, worker in workers.items()}
        runs |= {(name, True): partial(_busy, worker, tokens) for name, worker in workers.items()}
        # Each way idle and busy, then the next.
        rates = rounds(case.rounds, dict(sorted(runs.items())), case.quiet)
    idle = {name: rates[name, False] for name in workers}
    busy = {name: rates[name, True] for name in workers}
    cost = [100 * (1 - ratio) for ratio in ratios(idle[REAME], idle[LIBRARY])]
    result.figures.append(Figure.of(f"{REAME}: cost on an idle machine", cost, "%", Target("≤", 5)))
    for name in workers:
        target = Target("≥", 0.40) if name == REAME else None
        result.figures += [
            Figure.of(f"{name}: beside a busy process / idle", ratios(busy[name], idle[name]), target=target),
            Figure.of(f"{name}: idle", idle[name], "tokens/s"),
            Figure.of(f"{name}: beside a busy process", busy[name], "tokens/s"),
        ]


def _idle(worker: Worker, tokens: int) -> float:
    return worker.request(PROMPT, tokens).rate


def _busy(worker: Worker, tokens: int) -> float:
    with busy_process():
        return worker.request(PROMPT, tokens, MOST_SECONDS).rate


@contextmanager
def busy_process() -> Iterator[None]:
    """One core's worth of somebody else's work."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        time.sleep(0.3)
        try:
            yield
        finally:
            process.kill()
