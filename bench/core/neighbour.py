"""Busy neighbours: decoding through the engine beside one and two processes that compute all the time, against
decoding on an idle machine: with threads that follow the neighbours, with fixed numbers of threads, and with
OpenMP's own way to wait. Each way is a process of its own, since libgomp reads its variables at its start."""

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

PROMPT, LONG_PROMPT, TOKENS, LONG_TOKENS, MOST_SECONDS = 64, 512, 48, 24, 6.0
IDLE, LONG, BUSY, BUSIER = "idle", "idle, longer", "beside one busy process", "beside two"
REAME, ALL, ONE, LIBRARY = "Reame", "all threads", "one thread", "library default"


def measure(case: Case, result: Result) -> None:
    tokens = case.size(TOKENS)
    with ExitStack() as stack:

        def worker(threads: int = case.threads, *, adapt: bool = False, library_first: bool = False) -> Worker:
            return stack.enter_context(
                Worker(case.path, threads, case.buffers, adapt=adapt, library_first=library_first)
            )

        workers = {
            REAME: worker(adapt=True),
            ALL: worker(),
            ONE: worker(1),
            LIBRARY: worker(library_first=True),
        }
        for one in workers.values():
            one.request(PROMPT, 4)
        runs: dict[tuple[str, str], Callable[[], float]] = {}
        for name, one in workers.items():
            runs[name, IDLE] = partial(_rate, one, PROMPT, tokens)
            runs[name, BUSY] = partial(_rate_beside, one, tokens, 1)
            runs[name, BUSIER] = partial(_rate_beside, one, tokens, 2)
            if name in (REAME, LIBRARY):
                # Over a longer context the threads have more to wait for.
                runs[name, LONG] = partial(_rate, one, LONG_PROMPT, case.size(LONG_TOKENS))
        rates = rounds(case.rounds, runs, case.quiet)
    _report(rates, result)
    result.notes.append(f"{case.threads} threads; the first second beside a neighbour is part of the figures")


def _report(rates: dict[tuple[str, str], list[float]], result: Result) -> None:
    for prompt, scene in ((PROMPT, IDLE), (LONG_PROMPT, LONG)):
        cost = [100 * (1 - ratio) for ratio in ratios(rates[REAME, scene], rates[LIBRARY, scene])]
        title = f"{REAME}: cost on an idle machine, prompt of {prompt}"
        result.figures.append(Figure.of(title, cost, "%", Target("≤", 5)))
    for name in (REAME, ALL, ONE, LIBRARY):
        shares = ratios(rates[name, BUSY], rates[name, IDLE])
        target = Target("≥", 0.40) if name == REAME else None
        result.figures.append(Figure.of(f"{name}: {BUSY} / idle", shares, target=target))
    for scene in (BUSY, BUSIER):
        best = [max(pair) for pair in zip(rates[ALL, scene], rates[ONE, scene], strict=True)]
        title = f"{REAME} / better fixed number of threads, {scene}"
        result.figures.append(Figure.of(title, ratios(rates[REAME, scene], best), target=Target("≥", 0.90)))
    for (name, scene), values in rates.items():
        result.figures.append(Figure.of(f"{name}: {scene}", values, "tokens/s"))


def _rate(worker: Worker, prompt: int, tokens: int) -> float:
    return worker.request(prompt, tokens).rate


def _rate_beside(worker: Worker, tokens: int, neighbours: int) -> float:
    with busy_processes(neighbours):
        return worker.request(PROMPT, tokens, MOST_SECONDS).rate


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """So many cores' worth of somebody else's work."""
    with ExitStack() as stack:
        for _ in range(count):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(process.kill)
        time.sleep(0.3)
        yield
