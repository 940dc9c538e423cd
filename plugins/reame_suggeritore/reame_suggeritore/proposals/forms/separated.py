"""Rows of values with a comma, a semicolon or a tabulator between them."""

from __future__ import annotations

from reame_suggeritore.proposals.outline import Opening, Outline, PatternForm, Reading
from reame_suggeritore.proposals.sequence import Kind

_SEPARATORS = ("\t", ";", ",")
_LEAST = 2


class Separated(PatternForm):
    """``kind`` is (name, separator, how many there are)."""

    name = "separated"

    def read(self, text: str) -> Reading | None:
        """A row with at least three values."""
        for separator in _SEPARATORS:
            count = text.count(separator)
            if count >= _LEAST and separator + " " not in text:
                return Reading((self.name, separator, count), 0)
        return None

    def opening(self, kind: Kind, outline: Outline) -> Opening | None:
        """Nothing but what all rows begin with."""
        return Opening("") if outline.latest(kind, 1) else None
