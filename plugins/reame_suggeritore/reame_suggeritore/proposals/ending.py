"""Where an answer is complete: as many items as were asked for."""

from __future__ import annotations

from dataclasses import dataclass

from reame_suggeritore.proposals.forms.tables import ROW
from reame_suggeritore.proposals.outline import Outline
from reame_suggeritore.proposals.sequence import Kind

_HAS_HEAD = ("tables", "separated")
_COUNTED = ("numbered", "bullets", "records", *_HAS_HEAD)
_LEAST = 3


@dataclass(frozen=True, slots=True)
class Quota:
    """``asked`` are the numbers that the question mentions."""

    asked: frozenset[int]

    def reached(self, outline: Outline, kind: Kind) -> bool:
        """Whether there are as many lines of ``kind`` as the question may have asked for."""
        if not self.asked or kind[0] not in _COUNTED:
            return False
        if kind[0] == "tables" and kind[2] != ROW:
            return False
        count = len(outline.latest(kind, most=len(outline.kinds))) - (kind[0] in _HAS_HEAD)
        return self.enough(count)

    def enough(self, count: int) -> bool:
        """Whether so many things may have been asked for."""
        return count >= _LEAST and count in self.asked
