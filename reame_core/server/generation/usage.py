"""Counting tokens and milliseconds for responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET

from reame_core.errors import EngineError
from reame_core.server.wire.responses import (
    CompletionDetails,
    DraftDecisions,
    Drafts,
    PromptDetails,
    ReameReport,
    Timings,
    Usage,
)

if TYPE_CHECKING:
    from reame_core.engine.events import Finished

Groups = Sequence[Sequence["Finished"]]
"""The choices of each prompt."""


def usage_of(groups: Groups) -> Usage:
    """The prompt of several choices counts once, their answers all do."""
    prompt = sum(_first(group).usage.prompt for group in groups)
    completion = sum(finished.usage.completion for group in groups for finished in group)
    cached = sum(sum(_first(group).usage.reused.values()) for group in groups)
    return Usage(prompt, completion, prompt + completion, PromptDetails(cached), CompletionDetails())


def report_of(groups: Groups, plugins: Mapping[str, object]) -> ReameReport:
    """Where the prompt's tokens came from, and how long everything took."""
    sources: Counter[str] = Counter({"computed": 0})
    for group in groups:
        sources["computed"] += _first(group).usage.computed
        sources.update(_first(group).usage.reused)
    everything = [finished for group in groups for finished in group]
    return ReameReport(
        timings=_timings(everything, sources["computed"]),
        prompt_tokens=dict(sources),
        speculation=_drafts(everything),
        plugins=known if (known := {**_notes(groups), **plugins}) else UNSET,
    )


def _notes(groups: Groups) -> dict[str, object]:
    """What plugins say about answers that they knew. A list where there are several prompts."""
    recalled = [next((finished.recalled for finished in group if finished.recalled), None) for group in groups]
    names = {each.plugin for each in recalled if each is not None}
    notes = {name: [each.note if each and each.plugin == name else None for each in recalled] for name in names}
    return {name: each if len(groups) > 1 else each[0] for name, each in notes.items()}


def finish_reason(finished: Finished) -> Literal["stop", "length"]:
    """A choice that was stopped from inside, because another one has won, has no reason of its own."""
    return "length" if finished.reason == "length" else "stop"


def _first(group: Sequence[Finished]) -> Finished:
    """The choice that computed the prompt: the others share what it did."""
    if not group:
        raise EngineError("the engine gave no answer")
    return max(group, key=lambda finished: finished.usage.computed)


def _drafts(everything: Sequence[Finished]) -> Drafts:
    by_source: dict[str, tuple[int, int]] = {}
    for finished in everything:
        for source, (drafted, accepted) in finished.usage.drafts.items():
            before = by_source.get(source, (0, 0))
            by_source[source] = (before[0] + drafted, before[1] + accepted)
    drafted = sum(pair[0] for pair in by_source.values())
    accepted = sum(pair[1] for pair in by_source.values())
    return Drafts(drafted, accepted, by_source or UNSET, _decisions(everything) or UNSET)


def _decisions(everything: Sequence[Finished]) -> dict[str, DraftDecisions]:
    by_source: dict[str, DraftDecisions] = {}
    for finished in everything:
        for source, each in finished.usage.decisions.items():
            total = by_source.setdefault(source, DraftDecisions(0, 0, 0, 0.0))
            total.asked += each.asked
            total.paid += each.paid
            total.unpaid += each.unpaid
            total.ms = round(total.ms + each.milliseconds, 3)
    return by_source


def _timings(everything: Sequence[Finished], computed: int) -> Timings:
    longest = max(everything, key=lambda f: f.timings.queued + f.timings.prefill + f.timings.decode).timings
    later = sum(max(0, finished.usage.completion - 1) for finished in everything)
    decode = max(finished.timings.decode for finished in everything)
    return Timings(
        queued_ms=round(longest.queued, 3),
        prefill_ms=round(longest.prefill, 3),
        decode_ms=round(longest.decode, 3),
        prompt_tokens_per_second=_rate(computed, longest.prefill),
        # The first token of each choice belongs to its prefill.
        tokens_per_second=_rate(later, decode),
    )


def _rate(tokens: int, milliseconds: float) -> float | None:
    return round(1000 * tokens / milliseconds, 2) if tokens and milliseconds > 0 else None
