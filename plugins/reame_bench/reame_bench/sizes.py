"""How much of everything: a smoke test, a quick look, or the whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """Counts and lengths of all workloads. Tokens where nothing else is said."""

    name: str
    requests: int
    """Of a learning curve; a second pass repeats them."""
    prefix: int
    """Words of the long document."""
    answer: int
    """Length of free answers."""
    longest: int
    """Tokens of an answer, whatever the task would take."""
    users: tuple[int, ...]
    turns: int
    """Of a conversation."""
    rounds: int
    workloads: tuple[str, ...] = ()
    """Those that run where none is named; empty for all."""


SMOKE = Size("smoke", requests=3, prefix=120, answer=12, longest=12, users=(1, 2), turns=2, rounds=1)
QUICK = Size(
    "quick",
    requests=5,
    prefix=250,
    answer=24,
    longest=32,
    users=(1, 2, 4),
    turns=4,
    rounds=1,
    workloads=("triage", "prefix", "repeats", "fresh", "users", "chat"),
)
FULL = Size(
    "full", requests=40, prefix=1200, answer=160, longest=256, users=(1, 2, 3, 4, 8), turns=20, rounds=3
)
SIZES = {size.name: size for size in (SMOKE, QUICK, FULL)}
