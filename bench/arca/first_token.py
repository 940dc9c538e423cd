"""Time to the first token of a prompt whose first 850 tokens another server has computed, on a server with an
empty disk, against computing all of it; and against blocks of its own disk."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from bench.arca.server import server
from bench.arca.store import running_store
from bench.case import Case
from bench.report import Figure, Result, Target
from bench.rounds import ratios, rounds

SHARED, QUESTION = 850, 22


@dataclass(frozen=True, slots=True)
class _Seconds:
    """Until the first token."""

    cold: float
    shared: float
    """Another question, on a server that has nothing."""
    repeat: float
    """The same question, on another one."""
    near: float
    """A third question, on the first of these again: from its disk."""
    megabytes: float
    """Fetched for ``shared``."""


def measure(case: Case, result: Result) -> None:
    beginning = case.prompt(case.size(SHARED))
    prompts = [(*beginning, *case.prompt(QUESTION + 1)[1:]) for _ in range(3)]
    numbers = count()
    with running_store() as url:

        def one_round() -> _Seconds:
            number = next(numbers)
            return _one_round(case, prompts, len(beginning), url, f"r{number}")

        found = rounds(case.rounds, {"round": one_round}, case.quiet)["round"]
    cold = [times.cold for times in found]
    others = {
        "another question, from the store": [times.shared for times in found],
        "exact repeat, from the store": [times.repeat for times in found],
        "another question, from the disk": [times.near for times in found],
    }
    for name, seconds in others.items():
        target = Target("≥", 15.0) if case.large and name == "another question, from the store" else None
        result.figures.append(Figure.of(f"{name}: cold / restored", ratios(cold, seconds), target=target))
    for name, seconds in {"cold": cold, **others}.items():
        milliseconds = [1000 * s for s in seconds]
        result.figures.append(Figure.of(f"{name}: time to first token", milliseconds, "ms"))
    result.figures.append(Figure.of("fetched", [times.megabytes for times in found], "MB"))
    result.notes.append(f"{len(beginning)} shared tokens, questions of {QUESTION}; the store on this machine")
    result.notes.append(f"weight buffers: {case.buffers.label}")


def _one_round(case: Case, prompts: list[tuple[int, ...]], shared: int, url: str, prefix: str) -> _Seconds:
    folder = case.new_folder()
    with server(case, folder / "a", url, prefix) as first:
        cold = first.ask(prompts[0]).seconds
        first.flush()
    with server(case, folder / "b", url, prefix) as second:
        from_store = second.ask(prompts[1]).checked(shared)
        megabytes = second.shared_bytes("fetched") / 1e6
        second.flush()
    with server(case, folder / "c", url, prefix) as third:
        repeat = third.ask(prompts[0]).checked(len(prompts[0]) - 1)
    with server(case, folder / "b") as alone:
        near = alone.ask(prompts[2]).checked(shared)
    return _Seconds(cold, from_store, repeat, near, megabytes)
