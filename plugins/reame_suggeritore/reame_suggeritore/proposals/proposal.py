"""What proposers propose: text."""

from __future__ import annotations

from dataclasses import dataclass

ANY_TEXT = ("a", "A")
"""Beginnings of whatever may follow a proposal: what follows decides how its last characters are tokenized."""

DIGITS = ("1", "2")

KNOWN, ENDS, AGAIN = "", " ends", " again"
"""What a proposal rests on: the form itself, a guess that a field ends here, or that one will say what another
one said. Part of its label, for each is right in another share of cases."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text that may come next."""

    text: str
    confidence: float
    """How sure the proposer is of each of its tokens, 0 to 1."""
    label: str
    """Which proposer it is, and what it rests on."""
    samples: tuple[str, ...] = ANY_TEXT
    """Examples of what may stand behind it."""
    end: bool = False
    """Whether the answer ends behind it."""
