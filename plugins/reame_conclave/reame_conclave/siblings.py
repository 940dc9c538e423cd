"""Drafts from the other candidates: all answer one question, so much of what one says another has said."""

from __future__ import annotations

from collections.abc import Sequence

from reame_core.plugins.api import Draft

GRAM = 3
"""Tokens that have to be the same before what followed them is proposed."""
LONGEST = 16
"""Tokens beyond which matches are not told apart."""


class Siblings:
    """What each candidate of one vote has said so far, and where it said what. For the engine thread."""

    def __init__(self) -> None:
        self._said: dict[int, list[int]] = {}
        self._places: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        """(candidate, index behind it) of each three tokens, by them."""

    def hear(self, choice: int, generated: Sequence[int]) -> None:
        """``choice`` has generated these tokens by now."""
        said = self._said.setdefault(choice, [])
        for token in generated[len(said) :]:
            said.append(token)
            if len(said) >= GRAM:
                self._places.setdefault(tuple(said[-GRAM:]), []).append((choice, len(said)))

    def propose(self, choice: int, limit: int) -> Draft | None:
        """What a sibling said after the newest tokens of ``choice``. The longest match wins; of equal ones the
        candidate that has most to say from there."""
        said = self._said.get(choice, [])
        best: tuple[int, int, int, int] | None = None
        for sibling, end in self._matches(choice, said):
            other = self._said[sibling]
            if end >= len(other):
                continue
            length = _common_end(said, other, end)
            found = (length, min(limit, len(other) - end), sibling, end)
            best = found if best is None else max(best, found)
        if best is None:
            return None
        length, _, sibling, end = best
        return Draft(self._said[sibling][end : end + limit], match_length=length)

    def _matches(self, choice: int, said: list[int]) -> list[tuple[int, int]]:
        if len(said) < GRAM:  # the beginning itself
            others = [(sibling, other) for sibling, other in self._said.items() if sibling != choice]
            return [(sibling, len(said)) for sibling, other in others if other[: len(said)] == said]
        places = self._places.get(tuple(said[-GRAM:]), ())
        return [place for place in places if place[0] != choice]


def _common_end(said: list[int], other: list[int], end: int) -> int:
    """How many of the newest tokens are the same in ``other``, up to ``end``."""
    most = min(LONGEST, len(said), end)
    length = 0
    while length < most and said[-1 - length] == other[end - 1 - length]:
        length += 1
    return length
