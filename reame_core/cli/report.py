"""Figures about a finished request: lines for ``-v``, an object for ``--json``."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reame_core.cli.answer import Choice
    from reame_core.engine.events import Finished, Timings, TokenLogprob, Usage


@dataclass(frozen=True, slots=True)
class Outcome:
    """A request that was answered."""

    model: str
    description: Mapping[str, object]
    """Of the session: threads, buffers, ..."""
    choices: list[Choice]
    """All that were computed."""
    answers: list[Choice]
    """Those of them that are the answer."""
    plugins: Mapping[str, object]
    """What plugins tell about it."""
    seed: int | None
    """None where nothing was drawn."""
    load_ms: float
    total_ms: float
    """From the first token asked for to the last event; loading not included."""


def lines(outcome: Outcome) -> list[str]:
    """What ``-v`` says."""
    entries = [("name", outcome.model)]
    entries += [(name.replace("_", " "), _plain(value)) for name, value in outcome.description.items()]
    if outcome.seed is not None:
        entries.append(("seed", str(outcome.seed)))
    entries.append(("loaded", f"in {outcome.load_ms:.0f} ms"))
    for choice in outcome.choices:
        if len(outcome.choices) > 1:
            entries.append((f"choice {choice.index + 1}", _ending(choice)))
        if choice.finished is not None:
            entries += _figures(choice.finished)
    entries.append(("total", f"{outcome.total_ms:.0f} ms"))
    width = max(len(name) for name, _ in entries)
    return [f"{name:<{width}}  {text}" for name, text in entries]


def json_object(outcome: Outcome) -> dict[str, object]:
    """What ``--json`` prints. Log-probabilities that are no finite number are null."""
    finished = [choice.finished for choice in outcome.choices if choice.finished is not None]
    reused: Counter[str] = Counter()
    for choice in finished:
        reused.update(choice.usage.reused)
    return {
        "model": outcome.model,
        "choices": [_choice_object(choice) for choice in outcome.answers],
        "usage": _total_usage(finished),
        "reused": dict(reused),
        "timings": {
            "load_ms": round(outcome.load_ms, 3),
            **_timings_object([choice.timings for choice in finished]),
            "total_ms": round(outcome.total_ms, 3),
        },
        "seed": outcome.seed,
        "session": {name: _jsonable(value) for name, value in outcome.description.items()},
        **({"plugins": dict(outcome.plugins)} if outcome.plugins else {}),
    }


def _ending(choice: Choice) -> str:
    if choice.finished is None:
        return "failed"
    return choice.finished.reason


def _figures(finished: Finished) -> list[tuple[str, str]]:
    usage, timings = finished.usage, finished.timings
    sources = [
        f"{usage.computed} computed",
        *(f"{count} reused ({tier})" for tier, count in usage.reused.items()),
    ]
    entries = [
        ("prompt", f"{usage.prompt} tokens: {', '.join(sources)}"),
        ("prefill", f"{timings.prefill:.0f} ms{_rate(usage.computed, timings.prefill)}"),
        # The first token belongs to the prefill, so decoding made the others.
        (
            "decode",
            f"{usage.completion} tokens, {timings.decode:.0f} ms{_rate(usage.completion - 1, timings.decode)}",
        ),
    ]
    if usage.drafted:
        entries.append(("drafts", f"{usage.accepted} of {usage.drafted} tokens accepted"))
    return entries


def _rate(tokens: int, milliseconds: float) -> str:
    return f", {1000 * tokens / milliseconds:.1f} tokens/s" if tokens > 0 and milliseconds > 0 else ""


def _choice_object(choice: Choice) -> dict[str, object]:
    result: dict[str, object] = {"index": choice.index, "text": choice.text}
    if choice.logprobs:
        result["logprobs"] = [_logprob_object(logprob) for logprob in choice.logprobs]
    if choice.finished is None:
        return result | {"finish_reason": None, "error": str(choice.error)}
    return result | {
        "finish_reason": choice.finished.reason,
        "stopped_by": choice.finished.stopped_by,
        "usage": _usage_object(choice.finished.usage),
        "reused": choice.finished.usage.reused,
        "timings": _timings_object([choice.finished.timings]),
    }


def _total_usage(finished: list[Finished]) -> dict[str, int]:
    """All choices together; their common prompt counts once."""
    usages = [_usage_object(choice.usage) for choice in finished]
    total = {name: sum(usage[name] for usage in usages) for name in (usages[0] if usages else {})}
    if total:
        total["prompt_tokens"] = usages[0]["prompt_tokens"]
        total["total_tokens"] = total["prompt_tokens"] + total["completion_tokens"]
    return total


def _usage_object(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "computed_tokens": usage.computed,
        "drafted_tokens": usage.drafted,
        "accepted_tokens": usage.accepted,
    }


def _timings_object(timings: list[Timings]) -> dict[str, float]:
    """Choices run side by side: the longest counts."""
    return {
        f"{part}_ms": round(max((getattr(timing, part) for timing in timings), default=0.0), 3)
        for part in ("queued", "prefill", "decode")
    }


def _logprob_object(logprob: TokenLogprob) -> dict[str, object]:
    top = [{"token": token, "logprob": _finite(value)} for token, value in logprob.top]
    return {"token": logprob.token, "logprob": _finite(logprob.logprob), "top": top}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(value: object) -> str:
    return (
        {True: "on", False: "off", None: "none"}[value]
        if value is None or isinstance(value, bool)
        else str(value)
    )


def _jsonable(value: object) -> object:
    if isinstance(value, float):
        return _finite(value)
    return value if value is None or isinstance(value, (str, int, list, dict)) else str(value)
