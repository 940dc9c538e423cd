"""What is measured."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from bench.conditions import Conditions
from bench.quiet import Quiet
from reame_core.host.cpu import clamp_threads


class Subject:
    """A model file under some conditions."""

    def __init__(self, path: Path, conditions: Conditions) -> None:
        self.path = path
        self.conditions = conditions
        self.progress = conditions.progress
        self.quiet = Quiet(conditions.attempts)
        """Of the measurement under way."""

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def threads(self) -> int:
        return clamp_threads(self.conditions.threads).threads

    @property
    def rounds(self) -> int:
        return self.conditions.rounds

    def size(self, length: int) -> int:
        """``length``, or an eighth of it where only a quick check is wanted."""
        return max(2, length // 8) if self.conditions.quick else length

    def close(self) -> None:
        """Free what is held. Nothing is measured afterwards."""


Measured = TypeVar("Measured", bound=Subject)
