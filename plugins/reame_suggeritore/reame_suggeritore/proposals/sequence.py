"""What kind of line comes next, by the kinds of the lines so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

Kind = tuple[Hashable, ...]
"""Which form a line has, and what tells apart lines of that form that play different parts."""
BLANK: Kind = ("",)
PLAIN: Kind = ("plain",)
"""Of a line that has no form."""
_SHAPELESS = (BLANK, PLAIN)
_LONGEST, _FARTHEST, _MOST = 6, 160, 8


def next_kind(kinds: Sequence[Kind]) -> tuple[Kind, float] | None:
    """The kind that followed the longest earlier occurrence of the latest kinds, and how sure that is."""
    end = len(kinds)
    found: list[Kind] = []
    longest = 0
    for at in range(end - 1, max(0, end - _FARTHEST), -1):
        length = 0
        while length < _LONGEST and length < at and kinds[at - 1 - length] == kinds[end - 1 - length]:
            length += 1
        if length < longest or all(kind in _SHAPELESS for kind in kinds[end - length : end]):
            continue
        if length > longest:
            longest, found = length, []
        if len(found) < _MOST:
            found.append(kinds[at])
    if not found:
        return None
    votes = Counter(found)
    kind = max(found, key=votes.__getitem__)
    return kind, (votes[kind] + 1) / (len(found) + (1.5 if longest > 1 else 2))
