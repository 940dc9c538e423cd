"""Profiles Reame, with all plugins, while it tells stories to one user and to four."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from reame_bench.figures import short, table
from reame_bench.profile.layers import HTTP, LAYERS, LLAMA, Shares, read
from reame_bench.profile.spy import RATE, Recording, recording
from reame_bench.servers.reame import Reame
from reame_bench.servers.server import Child
from reame_bench.texts import tasks
from reame_bench.workloads.workload import Stage

if TYPE_CHECKING:
    from reame_bench.options import BenchOptions
    from reame_bench.results import Results, Run
    from reame_bench.servers.server import Job

KEY = "profile"
_USERS = (1, 4)
_SECONDS = 12.0
_TOKENS = 96
_ABOUT = ("rain", "bees", "salt", "a mill")
NOTED = 0.03
"""A function outside llama.cpp with this share of a token is named."""


@dataclass(slots=True)
class Profile:
    """Of one model and a number of users. Shares are of the time of a step; microseconds are of a token."""

    model: str
    users: int
    token_ms: float
    engine: dict[str, float]
    """By layer, of the engine thread."""
    beside: dict[str, float]
    """By layer, of the other threads: how much of one core."""
    noted: list[tuple[str, str, float]]
    """(layer, function, share) outside llama.cpp, at least ``NOTED``."""


def profile(options: BenchOptions, results: Results) -> None:
    """Measure, print, and keep in ``results``. Raises UsageError, BenchError."""
    from reame_bench.session import jobs, progress
    from reame_core.cli.terminal import write

    kept = {(each.model, each.users): each for each in profiles(results.run)}
    for job in jobs(options):
        for users in _USERS:
            progress(f"profile: {job.name}, {users} at once")
            kept[job.name, users] = _profile(job, users, options)
            results.run.extras[KEY] = [asdict(each) for each in kept.values()]
            results.save()
    write(as_markdown(results.run) + "\n")
    if options.page is not None:
        from reame_bench.report import write_page

        write_page(options.page, results.run)


def profiles(run: Run) -> list[Profile]:
    """Those that ``run`` has."""
    return msgspec.convert(run.extras.get(KEY, []), list[Profile])


def _profile(job: Job, users: int, options: BenchOptions) -> Profile:
    from reame_bench.session import progress

    with TemporaryDirectory(prefix="reame-bench-") as name:
        folder = Path(name)
        with Stage(Reame("reame"), job, folder, options.measured_size, progress) as stage:
            server = stage.server
            assert isinstance(server, Child)
            # Once with threads that wait: llama.cpp waits for its workers. Once without: the event loop's
            # thread cannot be told to be waiting by its Python stack.
            whole, token_ms = _stories(stage, server.pid, folder, users, idle=True)
            others, _ = _stories(stage, server.pid, folder, users, idle=False)
    engine = read(whole.stacks, engine_thread=True)
    beside = read(others.stacks, engine_thread=False)
    return Profile(
        model=job.name,
        users=users,
        token_ms=token_ms,
        engine={layer: engine.layers[layer] / max(1, engine.total) for layer in LAYERS},
        beside={layer: beside.layers[layer] / (RATE * others.seconds) for layer in LAYERS},
        noted=_noted(engine),
    )


def _stories(stage: Stage, pid: int, folder: Path, users: int, *, idle: bool) -> tuple[Recording, float]:
    """What was seen while stories were told that are new each time, and the milliseconds of a token."""
    tokens = round_ = 0
    with recording(pid, folder, idle=idle) as found:
        started = time.perf_counter()
        while time.perf_counter() - started < _SECONDS:
            round_ += 1
            stories = [
                tasks.user(f"Tell a long story about {each}, the number {round_} and {idle * 'no '}gold.")
                for each in _ABOUT[:users]
            ]
            tokens += sum(reply.tokens for reply in stage.ask_at_once(stories, _TOKENS, ignore_eos=True))
        found.seconds = time.perf_counter() - started
    return found, 1000 * found.seconds / tokens


def _noted(shares: Shares) -> list[tuple[str, str, float]]:
    return [
        (layer, function, count / shares.total)
        for (layer, function), count in shares.functions.most_common()
        if layer != LLAMA and count / shares.total >= NOTED
    ]


def as_markdown(run: Run) -> str:
    """A table of all profiles, and the functions that stand out."""
    rows = [["model, users", "ms a token", *LAYERS, "HTTP, on its own thread"]]
    notes = []
    for each in profiles(run):
        shares = [f"{each.engine[layer]:.1%}" for layer in LAYERS]
        label = f"{each.model}, {each.users}"
        rows.append([label, short(each.token_ms), *shares, f"{each.beside[HTTP]:.1%}"])
        notes += [f"- {label}: `{function}` ({layer}) {share:.1%}" for layer, function, share in each.noted]
    return "\n".join([*table(rows), "", *notes]).strip()
