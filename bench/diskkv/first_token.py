"""Time to the first token of a prompt with an 850-token beginning that was computed before a restart: with
another question behind it, and repeated exactly; against computing all of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from bench.caching import caching
from bench.case import Case
from bench.diskkv.files import bytes_on_disk, drop_from_page_cache
from bench.report import Figure, Result, Target
from bench.rounds import ratios, rounds

SHARED, QUESTION = 850, 22


@dataclass(frozen=True, slots=True)
class _Seconds:
    """Until the first token."""

    cold: float
    question: float
    from_disk: float
    """The same, with blocks that are not in the system's page cache."""
    repeat: float
    rate: float
    """GB/s of restoring."""
    compressed: float
    """Bytes on disk for each byte of cells."""


def measure(case: Case, result: Result) -> None:
    beginning = case.prompt(case.size(SHARED))
    questions = [case.prompt(QUESTION + 1)[1:] for _ in range(3)]
    prompts = [(*beginning, *question) for question in questions]
    contestant = partial(_one_round, case, prompts, len(beginning))
    found = rounds(case.rounds, {"round": contestant}, case.quiet)["round"]
    cold = [times.cold for times in found]
    restored = {
        "another question": [times.question for times in found],
        "another question, blocks not in the page cache": [times.from_disk for times in found],
        "exact repeat": [times.repeat for times in found],
    }
    targets = {"another question": 8.0 if case.small else 18.0}
    if case.large:
        targets["exact repeat"] = 40.0
    for name, seconds in restored.items():
        target = Target("≥", targets[name]) if name in targets else None
        result.figures.append(Figure.of(f"{name}: cold / restored", ratios(cold, seconds), target=target))
    for name, seconds in {"cold": cold, **restored}.items():
        milliseconds = [1000 * s for s in seconds]
        result.figures.append(Figure.of(f"{name}: time to first token", milliseconds, "ms"))
    result.figures += [
        Figure.of("restoring, from file to memory", [t.rate for t in found], "GB/s", Target("≥", 1.0)),
        Figure.of("bytes on disk / bytes of cells", [t.compressed for t in found], target=Target("≤", 0.9)),
    ]
    result.notes.append(f"{len(beginning)} shared tokens, questions of {QUESTION}")
    result.notes.append(f"weight buffers: {case.buffers.label}")


def _one_round(case: Case, prompts: list[tuple[int, ...]], shared: int) -> _Seconds:
    place = case.new_folder()
    with caching(case, place) as first:
        cold = first.ask(prompts[0]).seconds
        first.flush()
        compressed = bytes_on_disk(place) / first.counts.exported_bytes
    with caching(case, place) as again:
        question = again.ask(prompts[1]).checked(shared)
        rate = again.counts.restored_bytes / again.counts.restore_seconds / 1e9
    drop_from_page_cache(place)
    with caching(case, place) as again:
        from_disk = again.ask(prompts[2]).checked(shared)
    with caching(case, place) as again:
        repeat = again.ask(prompts[0]).checked(len(prompts[0]) - 1)
    return _Seconds(cold, question, from_disk, repeat, rate, compressed)
