"""Where drafts go wrong: how often a drafted token was right, by the tokens before it.

Narrow work is not right or wrong evenly. The fixed parts of a form always come as they were said before; what
was asked for often does not. So a draft is best cut where texts part, and one chance for all of its tokens does
not know where that is. As with branches in a processor (Yeh and Patt, 1991) the latest past tells: a long one
where it has been seen, else a short one, else what is known of the draft as a whole (prediction by partial
matching, Cleary and Witten, 1984).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence as Many
from itertools import islice

ORDERS = (1, 3)
"""Tokens before a drafted one that are looked at, the fewest first."""
LONGEST_PAST = ORDERS[-1]
_WEIGHTS = (4.0, 2.0)
"""As many drafted tokens as the opinion behind fewer tokens counts, by order."""
_MEMORY = 0.95
MOST = 1 << 15
"""Places of each order that are remembered, the latest ones."""


class Forks:
    """For the engine thread. A ``space`` keeps apart what has nothing to do with each other: sources, tenants,
    kinds of drafts."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._seen: tuple[OrderedDict[tuple[int, ...], tuple[float, float]], ...] = tuple(
            OrderedDict() for _ in ORDERS
        )
        """By order: (kept, tested) by the space and the tokens before."""

    def __len__(self) -> int:
        return sum(map(len, self._seen))

    def chances(self, space: int, before: Many[int], drafted: Many[int], usual: float) -> list[float]:
        """For each ``drafted`` token the chance to be kept, all before it being kept, behind the newest tokens
        ``before``; ``usual`` where nothing was seen of its place."""
        line = [*before[-LONGEST_PAST:], *drafted]
        chances = []
        for end in range(len(line) - len(drafted), len(line)):
            chance = usual
            for order, weight, seen in zip(ORDERS, _WEIGHTS, self._seen, strict=True):
                record = seen.get((space, *line[end - order : end])) if end >= order else None
                if record is None:
                    break
                chance = (record[0] + weight * chance) / (record[1] + weight)
            chances.append(chance)
        return chances

    def observe(self, space: int, before: Many[int], kept: Many[int], rejected: bool) -> None:
        """Drafted tokens were ``kept`` behind the tokens ``before``, and then one was ``rejected``, or there
        was no more to tell."""
        line = [*before[-LONGEST_PAST:], *kept]
        first = len(line) - len(kept)
        for end in range(first, len(line) + rejected):
            for order, seen in zip(ORDERS, self._seen, strict=True):
                if end >= order:
                    place = (space, *line[end - order : end])
                    accepted, tested = seen.pop(place, (0.0, 0.0))
                    seen[place] = _MEMORY * accepted + (end < len(line)), _MEMORY * tested + 1
        for seen in self._seen:
            for place in list(islice(seen, max(0, len(seen) - self._most))):
                del seen[place]
