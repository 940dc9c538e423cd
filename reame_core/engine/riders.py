"""Drafts that ride on the last rows of a prompt: how much of them to verify there, and how much later.

Beside a hundred rows of prompt, which are computed anyway, any drafted token looks cheap, so tokens per
millisecond are no measure there. Nor is a token lost that gets no row: what stands behind a doubtful one is
verified by the next batch, once it is known what came. So this looks ahead; see ``lookahead``.
"""

from __future__ import annotations

from collections.abc import Sequence as Many

from reame_core.engine.attention import NOTHING, Attended, attended
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import Bid, Gain
from reame_core.engine.lookahead import Prices, tokens_to_verify


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
        now = Prices(cost, certain, rows, silent, gain.milliseconds, reads, bid.sequence.computed)
        later = Prices(cost, certain, certain, 0, alone, later_reads, bid.sequence.known)
        bid.granted = tokens_to_verify(bid.chances, spare, now.waiting, later.waiting)
        gain = Gain(gain.tokens + bid.promise, now.milliseconds(bid.granted))
        rows, spare, reads = rows + bid.granted, spare - bid.granted, reads + bid.attended
    return gain
