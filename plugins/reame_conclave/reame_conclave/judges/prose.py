"""For texts without an answer that could be compared: which of them is nearest to all others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reame_conclave.judges.answer import Answer

_WORD = re.compile(r"\w+")


class Prose:
    """Reads no answers: the text nearest to all others wins."""

    name = "prose"

    def read(self, text: str) -> Answer | None:
        return None


def similarities(texts: Sequence[str]) -> list[list[float]]:
    """(texts, texts) the Jaccard index of their sets of words: 1 for the same words, 0 for none in common."""
    sets = [frozenset(_WORD.findall(text.casefold())) for text in texts]
    return [[_jaccard(one, other) for other in sets] for one in sets]


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 1.0
