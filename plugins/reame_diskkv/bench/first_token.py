"""Time to the first token of a prompt with an 850-token beginning that was computed before a restart: with
another question behind it, and repeated exactly; against computing all of it."""

from __future__ import annotations

from pathlib import Path

from bench.case import Case
from bench.report import Figure, Result, Target
from bench.rounds import ratios
from plugins.reame_diskkv.bench.cached import Answered, bytes_on_disk, cached, drop_from_page_cache

SHARED, QUESTION = 850, 22


def measure(case: Case, result: Result, folder: Path) -> None:
    shared, question = case.size(SHARED), QUESTION
    beginning = case.prompt(shared)
    questions = [case.prompt(question + 1)[1:] for _ in range(3)]
    seconds: dict[str, list[float]] = {"cold": [], "question": [], "from disk": [], "repeat": []}
    raw = 0
    for round_ in range(case.rounds):
        place = folder / str(round_)
        with cached(case, place) as first:
            seconds["cold"].append(first.ask((*beginning, *questions[0])).seconds)
            first.flush()
            raw = first.counts.exported_bytes
        result_bytes = bytes_on_disk(place)
        for name, prompt in [
            ("question", (*beginning, *questions[1])),
            ("from disk", (*beginning, *questions[2])),
            ("repeat", (*beginning, *questions[0])),
        ]:
            if name == "from disk":
                drop_from_page_cache(place)
            with cached(case, place) as again:
                answered = again.ask(prompt)
                seconds[name].append(answered.seconds)
                _check(answered, shared if name != "repeat" else len(prompt) - 1)
                rate = again.counts.restored_bytes / again.counts.restore_seconds / 1e9
                again.flush()
    small = case.small
    targets = {"question": 8.0 if small else 18.0, "from disk": None, "repeat": None if small else 40.0}
    for name, text in [
        ("question", "another question"),
        ("from disk", "another question, blocks not in the page cache"),
        ("repeat", "exact repeat"),
    ]:
        limit = targets[name]
        result.figures.append(
            Figure.of(
                f"{text}: cold / restored",
                ratios(seconds["cold"], seconds[name]),
                target=Target("≥", limit) if limit else None,
            )
        )
    for name in seconds:
        result.figures.append(
            Figure.of(f"{name}: time to first token", [1000 * s for s in seconds[name]], "ms")
        )
    result.figures += [
        Figure("restoring, from file to memory", rate, "GB/s", target=Target("≥", 1.0)),
        Figure("bytes on disk / bytes of cells", result_bytes / raw, target=Target("≤", 0.9)),
    ]
    result.notes.append(f"{shared} shared tokens, questions of {question}")


def _check(answered: Answered, restored: int) -> None:
    found = answered.usage.reused.get("diskkv", 0)
    if abs(found - restored) > 2:
        raise RuntimeError(f"{found} tokens were restored instead of {restored}")
