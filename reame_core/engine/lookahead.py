"""How much of a draft to verify now, and how much later: by looking ahead to its end, with dynamic programming
backwards (Bellman, 1957).

The most tokens per millisecond of this batch are not always the soonest end: where 24 rows are a good number
and a draft of 26 is left, two more rows now are cheaper than a batch for them later.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import dataclass

from reame_core.engine.attention import Attended
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import Bid, Gain
from reame_core.engine.computed_drafts import WINDOWS

_HARDLY = 0.05
"""Chance of all tokens so far to be right, below which the rest of a draft is not thought of."""


def grant_to_the_end(bid: Bid, spare: int, cost: BatchCost, reads: Attended, alone: float) -> Gain:
    """Grant the only user's ``bid`` up to ``spare`` rows, so that as much of it as is right is there soonest,
    and tell what the batch gives then. ``alone`` is what his batch takes without any draft, attending to
    ``reads``."""
    prices = Prices(cost, 1, 1, 0, alone, reads, bid.sequence.computed)
    likely = sum(chance >= _HARDLY for chance in bid.chances)
    milliseconds = [prices.waiting(count) for count in range(likely + 1)]
    price = milliseconds.__getitem__
    bid.granted = tokens_to_verify(bid.chances[:likely], spare, price, price, spare)
    return Gain(1 + bid.promise, milliseconds[bid.granted])


@dataclass(frozen=True, slots=True)
class Prices:
    """What drafted rows behind ``context`` cells cost beside ``rows``, so many of them ``silent``, that take
    ``before`` milliseconds and attend to ``reads``."""

    cost: BatchCost
    users: int
    rows: int
    silent: int
    before: float
    reads: Attended
    context: int

    def waiting(self, count: int) -> float:
        """Milliseconds: its own user waits for the batch anyway, all users wait for its rows."""
        return self.before + self.users * (self.milliseconds(count) - self.before)

    def milliseconds(self, count: int) -> float:
        """Of the batch with ``count`` such rows."""
        if not count:
            return self.before
        rows = self.rows + count
        reads = self.reads + Attended(count * self.context)
        price = self.cost.estimate(rows, self.users, reads, self.silent) or self.before
        # Where a number of rows was never measured the estimate is that of more rows, and some seem to be free.
        without, line = (self.cost.between(count, self.silent) for count in (self.rows, rows))
        return price if without is None or line is None else max(price, self.before + line - without)


def tokens_to_verify(
    worths: Many[float],
    most: int,
    now: Callable[[int], float],
    later: Callable[[int], float],
    most_later: int | None = None,
) -> int:
    """How many tokens of a draft to verify now, ``most`` or fewer, so that as much of it as is right, and the
    token behind it, are expected to be there soonest. Where the draft goes wrong does not depend on that, so
    the time from there on plays no part.

    ``worths[i]`` is the chance that token i and all before it are right. A batch with so many drafted tokens
    takes ``now`` milliseconds, and another one ``later``, of at most ``most_later`` or any number.
    """
    length = len(worths)
    right = [1.0, *worths]
    prices = [later(window) for window in range(length)]
    ahead = [0.0] * (length + 2)
    """[i]: milliseconds from where i tokens were right to the end, times the chance to come there."""
    for known in range(length, 0, -1):
        left = length - known if most_later is None else min(length - known, most_later)
        windows = (0, *(window for window in WINDOWS if window < left), left)
        # The target tells the token behind those that are verified.
        ahead[known] = min(right[known] * prices[window] + ahead[known + window + 1] for window in windows)
    return min(range(min(most, length) + 1), key=lambda count: now(count) + ahead[count + 1])
