"""The figures of an answer in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reame_core.engine.events import Finished


def status_line(finished: Finished, context: int) -> str:
    """Speed, what was remembered instead of computed, and how full the context of ``context`` tokens is."""
    usage, timings = finished.usage, finished.timings
    parts = [f"{usage.completion} {'token' if usage.completion == 1 else 'tokens'}"]
    # The first token belongs to the prefill, so decoding made the others.
    if usage.completion > 1 and timings.decode > 0:
        parts.append(f"{1000 * (usage.completion - 1) / timings.decode:.1f} tokens/s")
    parts.append(f"first after {timings.prefill / 1000:.1f} s")
    parts.append(_remembered(usage.prompt, usage.reused))
    if usage.accepted:
        parts.append(f"{usage.accepted} of {usage.drafted} drafted tokens kept")
    parts.append(f"context {usage.prompt + usage.completion} of {context}")
    return ", ".join(parts)


def _remembered(prompt: int, reused: dict[str, int]) -> str:
    text = f"remembered {sum(reused.values())} of {prompt} prompt tokens"
    elsewhere = {tier: count for tier, count in reused.items() if tier != "ram" and count}
    if not elsewhere:
        return text
    return f"{text} ({', '.join(f'{count} {tier}' for tier, count in elsewhere.items())})"
