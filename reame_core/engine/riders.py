"""Drafts that ride on the last rows of a prompt: how much of them to verify there, and how much later.

Beside a hundred rows of prompt, which are computed anyway, any drafted token looks cheap, so tokens per
millisecond are no measure there. Nor is a token lost that gets no row: what stands behind a doubtful one is
verified by the next batch, once it is known what came. So this looks ahead to the end of the draft, by dynamic
programming backwards (Bellman, 1957).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import dataclass

from reame_core.engine.attention import NOTHING, Attended, attended
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import Bid, Gain
from reame_core.engine.computed_drafts import WINDOWS


def grant_riders(
    bids: Many[Bid],
    certain: int,
    rows: int,
    spare: int,
    cost: BatchCost,
    reads: Attended = NOTHING,
    silent: int = 0,
) -> Gain | None:
    """Grant up to ``spare`` rows beside ``rows`` others, some of prompts and ``silent``, which attend to
    ``reads``, and tell what the batch gives then; None before anything was measured. ``certain`` tokens come
    without any draft, one for each user; what the others of them attend to in later batches is left out."""
    base = cost.estimate(rows, certain, reads, silent)
    if base is None:
        return None
    later_reads = attended((1, bid.sequence.known) for bid in bids)
    alone = cost.estimate(certain, certain, later_reads) or base
    gain = Gain(certain, base)
    for bid in sorted(bids, key=lambda bid: sum(bid.chances), reverse=True):
        now = _Prices(cost, certain, rows, silent, gain.milliseconds, reads, bid.sequence.computed)
        later = _Prices(cost, certain, certain, 0, alone, later_reads, bid.sequence.known)
        bid.granted = tokens_to_verify(bid.chances, spare, now.waiting, later.waiting)
        gain = Gain(gain.tokens + bid.promise, now.milliseconds(bid.granted))
        rows, spare, reads = rows + bid.granted, spare - bid.granted, reads + bid.attended
    return gain


@dataclass(frozen=True, slots=True)
class _Prices:
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
    worths: Many[float], most: int, now: Callable[[int], float], later: Callable[[int], float]
) -> int:
    """How many tokens of a draft to verify now, ``most`` or fewer, so that as much of it as is right, and the
    token behind it, are expected to be there soonest. Where the draft goes wrong does not depend on that, so
    the time from there on plays no part.

    ``worths[i]`` is the chance that token i and all before it are right. A batch with so many drafted tokens
    takes ``now`` milliseconds, and another one ``later``.
    """
    length = len(worths)
    right = [1.0, *worths]
    prices = [later(window) for window in range(length)]
    ahead = [0.0] * (length + 2)
    """[i]: milliseconds from where i tokens were right to the end, times the chance to come there."""
    for known in range(length, 0, -1):
        left = length - known
        windows = (0, *(window for window in WINDOWS if window < left), left)
        # The target tells the token behind those that are verified.
        ahead[known] = min(right[known] * prices[window] + ahead[known + window + 1] for window in windows)
    return min(range(min(most, length) + 1), key=lambda count: now(count) + ahead[count + 1])
