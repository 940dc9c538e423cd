"""Which drafts are worth their rows: the controller of speculative decoding.

A batch of k rows costs what it was measured to cost on this host (``BatchCost``); a drafted token is worth its
chance to be kept, as learned for its source (``odds``) and its place (``forks``). Each step takes the drafts,
or the beginnings of them, that give the most expected tokens per millisecond over all sequences of the batch,
and often that is none; for those that ride on a prompt see ``riders``.

A source that does not pay is not switched off blindly: its proposals go on to be made now and then and are
compared with what the sequence then says, which costs no row. So it comes back by itself. Sources whose drafts
cost time of their own are asked only where that pays: see ``computed_drafts``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import dataclass, field

from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import Bid, DraftRoom, Gain, Proposal, grant, grant_all
from reame_core.engine.computed_drafts import ComputedDrafts
from reame_core.engine.forks import LONGEST_PAST
from reame_core.engine.lookahead import grant_to_the_end
from reame_core.engine.odds import Track, bucket, expected
from reame_core.engine.records import Records
from reame_core.engine.riders import grant_riders
from reame_core.engine.sequence import Sequence
from reame_core.plugins.api import Draft

LONGEST_REST = 64
"""Steps after which even the worst source is asked again."""
CHEAP = 0.01
"""Share of a one-row batch that asking a source may take without being worth a thought."""
_PROPOSE_MEMORY = 0.9
_OUTLIER = 4.0
"""Times its usual time that one answer of a source counts for at most."""
_UNMEASURED = 1.0
"""Milliseconds of any batch, where drafts are not priced and nothing was measured."""


Ask = Callable[[str, Sequence, int], Draft | None]
"""(source, sequence, limit) to a usable draft of at most so many tokens."""


@dataclass(slots=True)
class Speculation:
    """``sources`` are asked in this order; ``cost`` prices batches; ``most`` tokens a draft."""

    sources: tuple[str, ...]
    ask: Ask
    cost: BatchCost
    most: int
    records: Records
    computed: ComputedDrafts
    clock: Callable[[], float] = time.perf_counter
    priced: bool = True
    """False gives every draft all its rows."""
    _propose_ms: dict[str, float] = field(default_factory=dict)

    def choose(self, sequences: Many[Sequence], rows: int, room: DraftRoom) -> dict[int, Proposal]:
        """Drafts by the id of their sequence, for a batch that has ``rows`` rows without them and ``room`` for
        more."""
        if room.most < 1 or self.most < 1:
            return {}
        bids = [bid for sequence in sequences if (bid := self._best_bid(sequence, room.most)) is not None]
        alone = len(bids) == len(sequences) or room.gentle is None
        spare = room.most if alone else min(room.most, room.gentle or 0)
        certain = len(sequences) + room.others
        gain = self._grant(bids, certain, rows, spare, room)
        promised = {bid.sequence.id: bid.promise for bid in bids if bid.granted}
        granted = sum(bid.granted for bid in bids)
        most = min(self.most, room.most - granted)
        gentle = most if room.gentle is None else min(most, room.gentle - granted)
        attended = sum((bid.attended for bid in bids), room.attended)
        left = DraftRoom(most, gentle, attended, silent=room.silent)
        computed = self.computed.choose(sequences, promised, rows + granted, left, gain)
        chosen = dict(computed)
        for bid in bids:
            if bid.granted and bid.sequence.id not in computed:
                chosen[bid.sequence.id] = bid.proposal.cut(bid.granted)
            else:
                self._keep_unpaid(bid, rests=rows == certain)
        return chosen

    def _best_bid(self, sequence: Sequence, spare: int) -> Bid | None:
        limit = min(spare, self.most, sequence.room - 1)
        if limit < 1 or not sequence.request.speculate:
            return None
        best: Bid | None = None
        for source in self.sources:
            track = self.records.track(source, sequence)
            if track.rest:
                track.rest -= 1
                continue
            draft = self._timed_ask(source, sequence, limit)
            if draft is None:
                continue
            bid = self._bid(sequence, source, track, draft, limit)
            if best is None or sum(bid.chances) > sum(best.chances):
                best = bid
        return best

    def _bid(self, sequence: Sequence, source: str, track: Track, draft: Draft, limit: int) -> Bid:
        kind = bucket(draft, sampled=sequence.request.sampling.temperature > 0)
        chance = self.records.chance(source, track, kind)
        if draft.distributions is not None:
            # How many tokens were drawn before a source stopped may depend on what was drawn, as may what is
            # known of the places it came to; whether they are used must not.
            return Bid(sequence, Proposal(source, draft, kind), expected([chance] * limit))
        space = self.records.space(source, sequence, kind)
        before = sequence.tokens[-LONGEST_PAST:].tolist()
        chances = self.records.forks.chances(space, before, draft.tokens, chance)
        return Bid(sequence, Proposal(source, draft, kind, space), expected(chances))

    def _timed_ask(self, source: str, sequence: Sequence, limit: int) -> Draft | None:
        started = self.clock()
        draft = self.ask(source, sequence, limit)
        spent = 1000 * (self.clock() - started)
        begins = not self.records.track(source, sequence).decisions.asked
        self.records.asked(source, [sequence], [draft], spent)
        if not begins:
            self._learn_pace(source, spent)
        return draft

    def _learn_pace(self, source: str, spent: float) -> None:
        """Asking ``source`` took so many milliseconds. How long it takes to read a prompt, which some do later
        than when they are asked for the first time, says little of that."""
        before = self._propose_ms.get(source, spent)
        fresh = min(spent, _OUTLIER * before) if before else spent
        self._propose_ms[source] = before * _PROPOSE_MEMORY + fresh * (1 - _PROPOSE_MEMORY)

    def _grant(self, bids: list[Bid], certain: int, rows: int, spare: int, room: DraftRoom) -> Gain | None:
        """Give rows to the tokens with the best chances: as many as give the most tokens per millisecond, or
        beside prompts as many as have the answer there soonest."""
        if not self.priced:
            grant_all(bids, spare)
            return Gain(certain + sum(bid.promise for bid in bids), _UNMEASURED)
        if rows > certain:
            return grant_riders(bids, certain, rows, spare, self.cost, room.attended, room.silent)
        proposing = sum(self._propose_ms.get(bid.proposal.source, 0.0) for bid in bids)
        gain = grant(bids, certain, rows, spare, self.cost, proposing, room.attended)
        if gain is not None and certain == 1 and bids and bids[0].granted:
            alone = self.cost.estimate(1, 1, room.attended) or gain.milliseconds
            return grant_to_the_end(bids[0], spare, self.cost, room.attended, alone)
        return gain

    def _keep_unpaid(self, bid: Bid, *, rests: bool) -> None:
        """The bid got no row: see whether it would have been right. If it ``rests``, a source that takes long
        is also asked less often: beside a prompt a draft may just have been left for the next batch."""
        self.records.keep_unpaid(bid.sequence, bid.proposal)
        track = self.records.track(bid.proposal.source, bid.sequence)
        base = self.cost.estimate(1) or 0.0
        times_cheap = self._propose_ms.get(bid.proposal.source, 0.0) / (CHEAP * base) if base else 0.0
        if rests and times_cheap > 1:
            # No longer than it takes for asking to be cheap: what comes next may be all that it is good for.
            track.rest = min(track.patience, math.ceil(2 * times_cheap))
            track.patience = min(LONGEST_REST, 2 * track.patience)
