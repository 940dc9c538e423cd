"""What a step of the engine costs in Python: the time outside the C function ``llama_decode`` for each step of
one user and of four, without a profiler; then where it goes, by cProfile (which makes everything slower)."""

from __future__ import annotations

import cProfile
import time
from functools import partial
from pathlib import Path

from bench.case import Case
from bench.report import Figure, Result
from bench.requests import Watched, run
from bench.rounds import median
from bench.spy import CallSpy
from reame_core.engine.engine import Engine

PROMPT, TOKENS, SHOWN = 64, 64, 16


def measure(case: Case, result: Result) -> None:
    tokens = case.size(TOKENS)
    for users in (1, 4):
        once = partial(_outside_llama_decode, case, users, tokens)
        found = [case.quiet.run(once) for _ in range(case.rounds)]
        result.figures += [
            Figure.of(f"{users} at once: Python in a step, median", [median(steps) for steps in found], "µs"),
            Figure.of(
                f"{users} at once: Python in a step, mean", [sum(steps) / len(steps) for steps in found], "µs"
            ),
        ]
    result.notes += _profile(case, tokens)


def _decoding(case: Case, users: int, tokens: int) -> Engine:
    """An engine whose users all have their first token and go on for ``tokens`` more, at least."""
    engine = case.engine()
    watched = [Watched(engine, case.prompt(PROMPT), tokens + 2) for _ in range(users)]
    run(engine, watched, until=lambda: all(w.token_times for w in watched))
    return engine


def _outside_llama_decode(case: Case, users: int, tokens: int) -> list[float]:
    engine = _decoding(case, users, tokens)
    microseconds = []
    with CallSpy() as spy:
        for _ in range(tokens):
            inside, started = spy.seconds, time.perf_counter()
            engine.step()
            microseconds.append(1e6 * (time.perf_counter() - started - (spy.seconds - inside)))
    engine.cancel_all()
    return microseconds


def _profile(case: Case, tokens: int) -> list[str]:
    """The costliest functions by the time in themselves, as lines."""
    engine = _decoding(case, 1, tokens)
    profile = cProfile.Profile()
    with CallSpy():
        profile.enable()
        for _ in range(tokens):
            engine.step()
        profile.disable()
    engine.cancel_all()
    entries = []
    for entry in profile.getstats():
        code = entry.code
        if isinstance(code, str):
            entries.append((entry.inlinetime, entry.callcount, code.strip("<>")))
        elif code.co_qualname != CallSpy._call.__qualname__:
            place = f"{Path(code.co_filename).name}:{code.co_firstlineno} {code.co_qualname}"
            entries.append((entry.inlinetime, entry.callcount, place))
    entries.sort(reverse=True)
    return [
        f"{1e6 * seconds / tokens:6.1f} µs a step, {calls / tokens:5.1f} calls: {place}"
        for seconds, calls, place in entries[:SHOWN]
    ]
