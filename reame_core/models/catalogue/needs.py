"""How much memory a model needs, before and after it is here, and whether that fits this machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from reame_core.errors import ModelError
from reame_core.host.memory import COMPUTE_BYTES, available_memory
from reame_core.models.gguf import kv_bytes_per_token, number, read_header

if TYPE_CHECKING:
    from pathlib import Path

    from reame_core.models.catalogue.entry import Facts

USUAL_CONTEXT = 4096
"""Tokens, as Reame plans them for one user where nobody says otherwise."""
_KV_BYTES = 2
"""Of an f16 element."""
_KEY_AND_VALUE = 2


class Fit(Enum):
    """Whether a model fits the memory that is free now."""

    YES = "yes"
    SLOWLY = "slowly"
    """It runs, but reads its weights from the disk over and over."""
    NO = "no"
    UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Needs:
    """Bytes of memory for one conversation."""

    weights: int
    kv: int
    """For ``context`` tokens in f16. Sliding windows need less than this."""
    context: int

    @property
    def total(self) -> int:
        return self.weights + self.kv + COMPUTE_BYTES

    def fit(self, available: int | None = None) -> Fit:
        """Whether that fits ``available`` bytes, by default those that are free on this machine."""
        available = available_memory() if available is None else available
        if self.total <= available:
            return Fit.YES
        # The weights are mapped from their file: they need not be in memory all at once.
        return Fit.SLOWLY if self.kv + COMPUTE_BYTES <= available else Fit.NO


def estimated_needs(facts: Facts) -> Needs | None:
    """By the architecture in the catalogue; None where it does not say enough."""
    if facts.size is None:
        return None
    context = min(facts.context or USUAL_CONTEXT, USUAL_CONTEXT)
    shape = (facts.layers, facts.kv_heads, facts.head_size)
    kv = context * _KEY_AND_VALUE * _KV_BYTES
    for factor in shape:
        if factor is None:
            return None
        kv *= factor
    return Needs(facts.size, kv, context)


def needs_of_file(path: Path) -> Needs | None:
    """By the file's own header; None for a file that is no sound model."""
    try:
        header = read_header(path)
    except ModelError:
        return None
    per_token = kv_bytes_per_token(header, "f16")
    if per_token is None:
        return None
    context = min(number(header, "{arch}.context_length") or USUAL_CONTEXT, USUAL_CONTEXT)
    return Needs(header.file_size, context * per_token, context)
