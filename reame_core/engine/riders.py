"""Drafts that ride on the last rows of a prompt: how much of them to verify there, and how much later.

Beside a hundred rows of prompt, which are computed anyway, any drafted token looks cheap, so tokens per
millisecond are no measure there. Nor is every token lost that gets no row: what stands behind a doubtful one is
verified by the next batch, once it is known what came. So this looks ahead to the end of the draft, by dynamic
programming backwards (Bellman, 1957).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import dataclass
from itertools import accumulate

from reame_core.engine.attention import NOTHING, Attended
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import Bid, Gain, by_chance, gains_of

_WINDOWS = (0, 1, 2, 3, 5, 7, 11, 15, 23, 31, 47, 63)
"""Drafted tokens of a later batch that are thought of: with the newest token in front these fill the blocks of
kernels."""


def grant_riders(
    bids: Many[Bid],
    certain: int,
    rows: int,
    spare: int,
    cost: BatchCost,
    asking: float = 0.0,
    attended: Attended = NOTHING,
) -> Gain | None:
    """As ``grant``, in a batch of which some ``rows`` belong to prompts."""
    base = cost.estimate(rows, certain, attended)
    if base is None:
        return None
    reads = sum((bid.row for bid in bids), NOTHING)
    alone = cost.estimate(certain, certain, reads) or base
    usual = _usual(bids, Gain(certain, alone), spare, cost, asking, reads)
    gain = Gain(certain, base)
    for bid in bids:
        now = _Prices(cost, certain, rows, gain.milliseconds, attended, bid)
        later = _Prices(cost, certain, certain, alone, reads, bid)
        bid.granted = tokens_to_verify(bid.chances, spare, now.waiting, later.waiting, usual)
        gain = Gain(gain.tokens + bid.promise, now.milliseconds(bid.granted))
        rows, spare, attended = rows + bid.granted, spare - bid.granted, attended + bid.attended
    return gain


@dataclass(frozen=True, slots=True)
class _Prices:
    """What so many tokens of ``bid`` cost beside ``rows`` that take ``before`` and attend to ``attended``."""

    cost: BatchCost
    users: int
    rows: int
    before: float
    attended: Attended
    bid: Bid

    def waiting(self, count: int) -> float:
        """Milliseconds: its own user waits for the batch anyway, all users wait for its rows."""
        return self.before + self.users * (self.milliseconds(count) - self.before)

    def milliseconds(self, count: int) -> float:
        rows = self.rows + count
        price = self.cost.estimate(rows, self.users, self.attended + self.bid.attended_by(count)) or self.before
        # Where a number of rows was never measured the estimate is that of more rows, and some seem to be free.
        without, line = self.cost.between(self.rows), self.cost.between(rows)
        return price if without is None or line is None else max(price, self.before + line - without)


def _usual(bids: Many[Bid], plain: Gain, spare: int, cost: BatchCost, asking: float, reads: Attended) -> float:
    """Milliseconds that a user waits for a token in batches without prompts: less than without drafts
    (``plain``), more than with these, for the rest of an answer is harder to draft."""
    users = int(plain.tokens)
    gains = gains_of(bids, by_chance(bids, spare), plain, users, users, cost, asking, reads)
    best = max((gain.rate for gain in gains), default=plain.rate)
    return users / math.sqrt(plain.rate * max(plain.rate, best))


def tokens_to_verify(
    worths: Many[float], most: int, now: Callable[[int], float], later: Callable[[int], float], usual: float
) -> int:
    """How many tokens of a draft to verify now, ``most`` or fewer, so that all of it is expected to be there
    soonest.

    ``worths[i]`` is the chance that token i and all before it are right. A batch with so many drafted tokens
    takes ``now`` milliseconds, and another one ``later``; a token takes ``usual`` where the draft was wrong
    before it.
    """
    length = len(worths)
    right = [1.0, *worths]
    missed = [0.0, *accumulate((right[i] - right[i + 1]) * (length - i - 1) * usual for i in range(length))]
    """[i]: for what is left of the draft behind a first wrong token before i, times the chance of that."""
    ahead = [0.0] * (length + 1)
    """[i]: from where i tokens were right, times the chance of that."""
    batches = [(window, later(window)) for window in _WINDOWS if window <= length]

    def rest(start: int, window: int) -> float:
        """Behind a batch that verifies ``window`` tokens from ``start`` on: the target tells the next one."""
        told = min(length, start + window + 1)
        return missed[told] - missed[start] + ahead[told]

    for start in range(length - 1, 0, -1):
        ahead[start] = min(
            right[start] * batch + rest(start, window) for window, batch in batches if start + window <= length
        )
    return min(range(min(most, length) + 1), key=lambda count: now(count) + rest(0, count))
