"""Which drafted tokens get rows: those that give the whole batch the most expected tokens per millisecond.

Where the batch also computes the end of a prompt, see ``riders``.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence as Many
from dataclasses import dataclass, replace

from reame_core.engine.attention import NOTHING, Attended
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.odds import Kind
from reame_core.engine.sequence import Sequence
from reame_core.plugins.api import Draft

_ANY = Kind()
LEAST_GAIN = 1.02
"""Drafts have to promise at least this many times the tokens per millisecond of none."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A draft with its source and how it is judged."""

    source: str
    draft: Draft
    kind: Kind = _ANY
    space: int | None = None
    """Of ``Forks``; None where the tokens before are not looked at."""
    behind: int | None = None
    """The token that followed in the draft before it was cut: whether that one would have been right is seen
    when all others are. None for drafts that were drawn: the target's own draw tells too little of them."""

    def cut(self, length: int) -> Proposal:
        """Its first ``length`` tokens."""
        tokens = self.draft.tokens
        if length >= len(tokens):
            return self
        behind = int(tokens[length]) if self.draft.distributions is None else None
        return replace(self, draft=self.draft.shortened(length), behind=behind)


@dataclass(frozen=True, slots=True)
class DraftRoom:
    """``most`` drafted tokens fit in the batch; ``gentle`` where somebody without a draft waits for it too, and
    would otherwise get his one token late."""

    most: int
    gentle: int | None = None
    attended: Attended = NOTHING
    """By the rows that are in the batch already."""
    others: int = 0
    """Users who get a token from the batch and are not asked for drafts here."""
    silent: int = 0
    """Rows in the batch that want no logits: of prompts, all but their last ones."""


@dataclass(slots=True)
class Bid:
    """A proposal that asks for rows. ``chances[i]`` is that of token i and all before it to be kept."""

    sequence: Sequence
    proposal: Proposal
    chances: list[float]
    granted: int = 0

    @property
    def row(self) -> Attended:
        """What one more row of it adds: in tiles nothing, for they are computed whole."""
        return Attended(self.sequence.computed)

    @property
    def attended(self) -> Attended:
        """What the granted rows add."""
        return Attended(self.granted * self.sequence.computed)

    @property
    def promise(self) -> float:
        """Tokens expected from the rows that were granted."""
        return sum(self.chances[: self.granted])


@dataclass(frozen=True, slots=True)
class Gain:
    """What a batch is expected to give, and to take."""

    tokens: float
    milliseconds: float

    @property
    def rate(self) -> float:
        """Tokens per millisecond."""
        return self.tokens / self.milliseconds


def grant_all(bids: Many[Bid], spare: int) -> None:
    """Give every token its row as long as there are any."""
    for bid in bids:
        bid.granted = min(spare, len(bid.chances))
        spare -= bid.granted


def grant(
    bids: Many[Bid],
    certain: int,
    rows: int,
    spare: int,
    cost: BatchCost,
    asking: float = 0.0,
    attended: Attended = NOTHING,
) -> Gain | None:
    """Grant up to ``spare`` rows beside ``rows`` others, which attend to ``attended``, to the tokens with the
    best chances, and tell what the batch gives then; None before anything was measured. ``certain`` tokens come
    without any draft, one for each user. The ``asking`` of the bidders took milliseconds, which only drafts
    have to earn."""
    base = cost.estimate(rows, certain, attended)
    if base is None:
        return None
    heap = [(-bid.chances[0], index, 0) for index, bid in enumerate(bids)]
    heapq.heapify(heap)
    order: list[int] = []
    tokens, best, count = float(certain), Gain(certain, base), 0
    best_rate = best.rate * LEAST_GAIN
    while heap and len(order) < spare:
        chance, index, place = heapq.heappop(heap)
        order.append(index)
        tokens -= chance
        if place + 1 < len(bids[index].chances):
            heapq.heappush(heap, (-bids[index].chances[place + 1], index, place + 1))
        attended += bids[index].row
        gain = Gain(tokens, (cost.estimate(rows + len(order), certain, attended) or base) + asking)
        if gain.rate > best_rate:
            best, best_rate, count = gain, gain.rate, len(order)
    for index in order[:count]:
        bids[index].granted += 1
    return best
