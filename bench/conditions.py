"""What the command line asks of measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Of all measurements of a run."""

    rounds: int
    attempts: int = 1
    """How often a run is repeated that other processes disturb."""
    threads: int | None = None
    """None for as many as Reame would use."""
    buffers: str = "off"
    """``off`` for plain weights, ``auto`` for what Reame finds best."""
    quick: bool = False
    llama_server: Path | None = None
    draft_model: Path | None = None
    progress: Callable[[str], None] = lambda line: None
