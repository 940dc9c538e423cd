"""Time to the first token of a prompt with an 850-token beginning that was computed before a restart: with
another question behind it, and repeated exactly; against computing all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from bench.case import Case
from bench.report import Figure, Result, Target
from bench.rounds import ratios, rounds
from plugins.reame_diskkv.bench.cached import Answered, bytes_on_disk, cached, drop_from_page_cache

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


def measure(case: Case, result: Result, folder: Path) -> None:
    beginning = case.prompt(case.size(SHARED))
    questions = [case.prompt(QUESTION + 1)[1:] for _ in range(3)]
    prompts = [(*beginning, *question) for question in questions]
    places = count()
    contestant = partial(_one_round, case, prompts, len(beginning), lambda: folder / str(next(places)))
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


def _one_round(
    case: Case, prompts: list[tuple[int, ...]], shared: int, new_place: Callable[[], Path]
) -> _Seconds:
    place = new_place()
    with cached(case, place) as first:
        cold = first.ask(prompts[0]).seconds
        first.flush()
        compressed = bytes_on_disk(place) / first.counts.exported_bytes
    with cached(case, place) as again:
        question = _checked(again.ask(prompts[1]), shared)
        rate = again.counts.restored_bytes / again.counts.restore_seconds / 1e9
    drop_from_page_cache(place)
    with cached(case, place) as again:
        from_disk = _checked(again.ask(prompts[2]), shared)
    with cached(case, place) as again:
        repeat = _checked(again.ask(prompts[0]), len(prompts[0]) - 1)
    return _Seconds(cold, question, from_disk, repeat, rate, compressed)


def _checked(answered: Answered, restored: int) -> float:
    found = answered.usage.reused.get("diskkv", 0)
    if abs(found - restored) > 2:
        raise RuntimeError(f"{found} tokens were restored instead of {restored}")
    return answered.seconds
