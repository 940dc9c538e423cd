"""A busy neighbour: decoding through the engine beside one process that computes all the time, against
decoding on an idle machine, for several ways of OpenMP's threads to wait. Each way is a process of its own,
since libgomp reads its variables when it is loaded."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from bench.case import Case
from bench.report import Figure, Result, Target
from bench.rounds import ratios, rounds
from bench.worker import Worker
from reame_core.llama.bindings import SPIN_COUNT

PROMPT, LONG_PROMPT, TOKENS, MOST_SECONDS = 64, 512, 48, 8.0
IDLE, BUSY, LONG = "idle", "busy", "idle, long prompt"
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
        runs: dict[tuple[str, str], Callable[[], float]] = {}
        for name, worker in workers.items():
            runs[name, IDLE] = partial(_rate, worker, PROMPT, tokens)
            runs[name, BUSY] = partial(_rate_beside_busy_process, worker, tokens)
            if name in (REAME, LIBRARY):
                # Over a longer context the threads have more to wait for.
                runs[name, LONG] = partial(_rate, worker, LONG_PROMPT, tokens)
        rates = rounds(case.rounds, runs, case.quiet)
    for prompt, scene in ((PROMPT, IDLE), (LONG_PROMPT, LONG)):
        cost = [100 * (1 - ratio) for ratio in ratios(rates[REAME, scene], rates[LIBRARY, scene])]
        title = f"{REAME}: cost on an idle machine, prompt of {prompt}"
        result.figures.append(Figure.of(title, cost, "%", Target("≤", 5)))
    for name in workers:
        idle, busy = rates[name, IDLE], rates[name, BUSY]
        target = Target("≥", 0.40) if name == REAME else None
        result.figures += [
            Figure.of(f"{name}: beside a busy process / idle", ratios(busy, idle), target=target),
            Figure.of(f"{name}: idle", idle, "tokens/s"),
            Figure.of(f"{name}: beside a busy process", busy, "tokens/s"),
        ]


def _rate(worker: Worker, prompt: int, tokens: int) -> float:
    return worker.request(prompt, tokens).rate


def _rate_beside_busy_process(worker: Worker, tokens: int) -> float:
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
