"""Fields: what varies from line to line, between separators that do not."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reame_suggeritore.proposals.page import Line

_WORD = r"[^\W\d_]+(?:['’\-_ ]?[^\W_]+)*"
_NUMBER = r"\d+(?:\.\d+)*(?:[^\W\d_]+)?"
_FIELD = re.compile(rf"{_WORD}|{_NUMBER}")
_DIGIT = re.compile(r"\d")
_LETTERS = re.compile(r"[^\W\d_]+(?:[ '’\-]+[^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Field:
    """What stood in one place of a line. ``tokens`` are those of its last word."""

    text: str
    tokens: int

    @classmethod
    def of(cls, line: Line, start: int, end: int) -> Field:
        """The characters [start, end) of ``line``."""
        text = line.text[start:end]
        word = start + text.rfind(" ") + 1
        return cls(text, line.tokens(word, end))

    @property
    def words(self) -> int:
        return self.text.count(" ") + 1

    @property
    def last_word(self) -> str:
        return self.text.rpartition(" ")[2]

    @property
    def shape(self) -> str:
        """Words look alike, numbers by their digits: ``a@a.a``, ``dd.d``."""
        return _DIGIT.sub("d", _LETTERS.sub("a", self.text))


def divide(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """``text`` as separators around fields: (separators, places of the fields), one separator more than
    fields, of which the first and the last may be empty."""
    separators, places = [], []
    at = 0
    for match in _FIELD.finditer(text):
        separators.append(text[at : match.start()])
        places.append(match.span())
        at = match.end()
    separators.append(text[at:])
    return separators, places
