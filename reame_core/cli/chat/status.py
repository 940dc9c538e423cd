"""The figures of an answer in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reame_core.engine.events import Finished


def counted(number: int, noun: str) -> str:
    """``1 turn``, ``2 turns``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def status_line(finished: Finished, context: int) -> str:
    """How long the answer is, its speed, the seconds before its first token, how many of the prompt's tokens
    were remembered instead of computed, and how full the context of ``context`` tokens is. Fits 80 columns."""
    usage, timings = finished.usage, finished.timings
    parts = [counted(usage.completion, "token")]
    # The first token belongs to the prefill, so decoding made the others.
    if usage.completion > 1 and timings.decode > 0:
        parts.append(f"{1000 * (usage.completion - 1) / timings.decode:.1f} tokens/s")
    parts.append(f"first {timings.prefill / 1000:.1f} s")
    parts.append(_remembered(usage.prompt, usage.reused))
    if usage.accepted:
        parts.append(f"drafts {usage.accepted} of {usage.drafted}")
    parts.append(f"context {usage.prompt + usage.completion}/{context}")
    return ", ".join(parts)


def _remembered(prompt: int, reused: dict[str, int]) -> str:
    text = f"remembered {sum(reused.values())} of {prompt}"
    elsewhere = {tier: count for tier, count in reused.items() if tier != "ram" and count}
    if not elsewhere:
        return text
    return f"{text} ({', '.join(f'{count} {tier}' for tier, count in elsewhere.items())})"
