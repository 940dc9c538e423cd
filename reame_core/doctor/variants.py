"""Other ways to compute the same model, and what they would change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reame_core.llama.trials import Outcome, Setup

CLEARLY = 1.03
"""How many times as fast another setup has to be to be worth a word."""


@dataclass(frozen=True, slots=True)
class Variant:
    """``setup`` differs from the chosen one in what ``label`` says. ``advice`` is what to do where it is
    clearly faster; without it the variant is only shown."""

    label: str
    setup: Setup
    advice: str = ""


def variants(chosen: Setup, logical: int) -> list[Variant]:
    """One difference at a time."""
    found = [
        Variant(_threads(count), replace(chosen, threads=count), f"set model.threads = {count}")
        for count in _other_threads(chosen.threads, logical)
    ]
    found += [
        Variant(f"prompts in batches of {rows}", replace(chosen, batch_rows=rows))
        for rows in (256, 512)
        if rows != chosen.batch_rows
    ]
    other = "off" if chosen.flash_attention else "on"
    found.append(
        Variant(
            f"flash attention {other}",
            replace(chosen, flash_attention=not chosen.flash_attention),
            f'set engine.flash_attention = "{other}"',
        )
    )
    found += [
        Variant(f"KV memory as {kind}", replace(chosen, kv_type=kind))
        for kind in ("q8_0", "q4_0")
        if kind != chosen.kv_type
    ]
    found += [
        Variant("threads that spin less", replace(chosen, spin="1000"), "start with GOMP_SPINCOUNT=1000"),
        Variant("threads that never sleep", replace(chosen, spin="30000000")),
    ]
    return found


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _other_threads(chosen: int, logical: int) -> Sequence[int]:
    others = {max(1, chosen // 2), chosen - 1, logical} - {0, chosen}
    return sorted(others)


def gain(chosen: Outcome, other: Outcome) -> float | None:
    """How many times as fast a usual request is with ``other``; None where one of them has no speed."""
    if chosen.speed is None or other.speed is None:
        return None
    return chosen.speed.typical_request / other.speed.typical_request
