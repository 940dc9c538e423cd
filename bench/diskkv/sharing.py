"""Bytes on disk for prompts that share their beginning, against the cells of their distinct blocks and against
the cells of all prompts."""

from __future__ import annotations

from bench.caching import caching
from bench.case import Case
from bench.diskkv.files import bytes_on_disk
from bench.report import Figure, Result, Target

SHARED, QUESTION, PROMPTS = 850, 30, 8


def measure(case: Case, result: Result) -> None:
    folder = case.new_folder()
    beginning = case.prompt(case.size(SHARED))
    prompts = [(*beginning, *case.prompt(QUESTION + 1)[1:]) for _ in range(PROMPTS)]
    with caching(case, folder) as each:
        each.ask(prompts[0])
        one = each.counts.exported_bytes
        for prompt in prompts[1:]:
            each.ask(prompt)
        each.flush()
        distinct = each.counts.exported_bytes
    size = bytes_on_disk(folder)
    result.figures += [
        Figure("bytes on disk / cells of distinct blocks", size / distinct, target=Target("≤", 0.9)),
        Figure("bytes on disk / cells of all prompts", size / (one * PROMPTS)),
    ]
    result.notes.append(f"{PROMPTS} prompts with {len(beginning)} tokens in common and {QUESTION} of their own")
    result.notes.append(f"weight buffers: {case.buffers.label}")
