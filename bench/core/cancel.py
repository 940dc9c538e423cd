"""A cancelled request: from the call of ``cancel``, on another thread, to the request's last event, while its
prompt is computed alone, while another user decodes beside it, and while it decodes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from bench.case import Case
from bench.report import Figure, Result, Target
from reame_core.engine.events import Event, Failed, Finished, TextDelta
from reame_core.engine.request import Request
from reame_core.engine.worker import EngineWorker

LONG, SHORT, CANCELS = 1500, 64, 8
_APART = 0.137
"""Seconds by which each cancel comes later than the one before: they fall anywhere in a batch."""


def measure(case: Case, result: Result) -> None:
    cancels = case.size(CANCELS)
    alone = [_while_filling(case, _APART * (1 + i)) for i in range(cancels)]
    beside = [_while_filling(case, _APART * (1 + i), beside=True) for i in range(cancels)]
    decoding = [_while_decoding(case) for _ in range(cancels)]
    result.figures += [
        Figure.of("cancelled while its prompt is computed alone", alone, "ms", Target("≤", 100)),
        Figure("the same, slowest", max(alone), "ms", target=Target("≤", 100)),
        Figure.of("cancelled while another user decodes", beside, "ms", Target("≤", 100)),
        Figure.of("cancelled while it decodes", decoding, "ms", Target("≤", 100)),
    ]
    result.notes.append(f"prompts of {LONG} tokens, stall budget 200 ms")


class _Listener:
    def __init__(self) -> None:
        self.started, self.ended = threading.Event(), threading.Event()
        self.ended_at = 0.0

    def __call__(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, TextDelta):
                self.started.set()
            elif isinstance(event, Finished | Failed):
                self.ended_at = time.perf_counter()
                self.ended.set()


def _while_filling(case: Case, seconds: float, *, beside: bool = False) -> float:
    worker = EngineWorker(case.experienced_engine())
    try:
        if beside:
            other = _Listener()
            worker.submit(Request(prompt=case.prompt(SHORT), ignore_end=True, reuse=False), other)
            other.started.wait()
        return _cancelled(worker, case.prompt(LONG), lambda _: time.sleep(seconds))
    finally:
        worker.close()


def _while_decoding(case: Case) -> float:
    worker = EngineWorker(case.engine())
    try:
        return _cancelled(worker, case.prompt(SHORT), lambda listener: listener.started.wait())
    finally:
        worker.close()


def _cancelled(worker: EngineWorker, prompt: tuple[int, ...], until: Callable[[_Listener], object]) -> float:
    """Milliseconds from cancel to the last event."""
    listener = _Listener()
    ticket = worker.submit(Request(prompt=prompt, ignore_end=True, reuse=False), listener)
    until(listener)
    if listener.ended.is_set():
        raise RuntimeError("the request ended before it was cancelled")
    now = time.perf_counter()
    ticket.cancel()
    listener.ended.wait()
    return 1000 * (listener.ended_at - now)
