"""What judges read, and the form that all of them have."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal, Protocol

Kind = Literal["number", "choice", "json", "text"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a text answers. Texts vote together where their answers are equal, however they are written."""

    kind: Kind
    key: Hashable
    """Equal for equal answers of one kind."""
    shown: str = field(compare=False)
    """For people: as it was written, or nearly so."""


class Judge(Protocol):
    """Reads answers. It knows one text at a time, so that a vote never depends on the other texts."""

    @property
    def name(self) -> str:
        """As requests call it."""
        ...

    def read(self, text: str) -> Answer | None:
        """What ``text`` answers; None where that cannot be told: it does not vote then."""
        ...
