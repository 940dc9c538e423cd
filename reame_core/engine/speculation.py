"""Which drafts are worth their rows: the controller of speculative decoding.

A batch of k rows costs what it was measured to cost on this host (``BatchCost``); a drafted token is worth its
chance to be kept, as learned for its source (``odds``). Each step takes the drafts, or the beginnings of them,
that give the most expected tokens per millisecond over all sequences of the batch, and often that is none.

A source that does not pay is not switched off blindly: its proposals go on to be made now and then and are
compared with what the sequence then says, which costs no row. So it comes back by itself.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import dataclass, field

from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.odds import Kind, SourceOdds, Track, bucket, expected
from reame_core.engine.sequence import Sequence
from reame_core.plugins.api import Draft

LONGEST_REST = 64
"""Steps after which even the worst source is asked again."""
CHEAP = 0.01
"""Share of a one-row batch that asking a source may take without being worth a thought."""
WATCHED = 4
"""Tokens of a proposal without rows that are compared with what comes: few, to know soon."""
LEAST_GAIN = 1.02
"""Drafts have to promise at least this many times the tokens per millisecond of none."""
_PROPOSE_MEMORY = 0.9


@dataclass(frozen=True, slots=True)
class Proposal:
    """A draft with its source."""

    source: str
    draft: Draft


@dataclass(frozen=True, slots=True)
class DraftRoom:
    """``most`` drafted tokens fit in the batch; ``gentle`` where somebody without a draft waits for it too, and
    would otherwise get his one token late."""

    most: int
    gentle: int | None = None


Ask = Callable[[str, Sequence, int], Draft | None]
"""(source, sequence, limit) to a usable draft of at most so many tokens."""


@dataclass(slots=True)
class SourceTotals:
    """What became of one source's tokens in this process."""

    proposed: int = 0
    drafted: int = 0
    """Tokens that were given rows."""
    tested: int = 0
    """Tokens the target had an opinion on: the kept ones and the first rejected."""
    accepted: int = 0
    milliseconds: float = 0.0
    """Spent proposing."""


@dataclass(slots=True)
class _Bid:
    sequence: Sequence
    proposal: Proposal
    chances: list[float]
    granted: int = 0


@dataclass(slots=True)
class Speculation:
    """``sources`` are asked in this order; ``cost`` prices batches; ``most`` tokens a draft."""

    sources: tuple[str, ...]
    ask: Ask
    cost: BatchCost
    most: int
    clock: Callable[[], float] = time.perf_counter
    priced: bool = True
    """False gives every draft all its rows."""
    totals: dict[str, SourceTotals] = field(default_factory=dict)
    _odds: dict[str, SourceOdds] = field(default_factory=dict)
    _tracks: dict[tuple[int, str], Track] = field(default_factory=dict)
    _propose_ms: dict[str, float] = field(default_factory=dict)

    def choose(self, sequences: Many[Sequence], rows: int, room: DraftRoom) -> dict[int, Proposal]:
        """Drafts by the id of their sequence, for a batch that has ``rows`` rows without them."""
        if not self.sources or room.most < 1 or self.most < 1:
            return {}
        bids = [bid for sequence in sequences if (bid := self._best_bid(sequence, room.most)) is not None]
        alone = len(bids) == len(sequences) or room.gentle is None
        self._grant(bids, rows, room.most if alone else min(room.most, room.gentle or 0))
        chosen = {}
        for bid in bids:
            draft = bid.proposal.draft
            if bid.granted:
                chosen[bid.sequence.id] = Proposal(bid.proposal.source, draft.shortened(bid.granted))
            else:
                self._watch(bid)
        return chosen

    def _best_bid(self, sequence: Sequence, spare: int) -> _Bid | None:
        limit = min(spare, self.most, sequence.room - 1)
        if limit < 1 or not sequence.request.speculate:
            return None
        best: _Bid | None = None
        for source in self.sources:
            track = self._tracks.setdefault((sequence.id, source), Track())
            self._learn_from_shadow(source, track, sequence)
            if track.rest:
                track.rest -= 1
                continue
            draft = self._timed_ask(source, sequence, limit)
            if draft is None:
                continue
            kind = bucket(draft)
            chance = track.chance(kind, self._general(source).chance(kind))
            bid = _Bid(sequence, Proposal(source, draft), expected(chance, len(draft.tokens)))
            if best is None or sum(bid.chances) > sum(best.chances):
                best = bid
        return best

    def _timed_ask(self, source: str, sequence: Sequence, limit: int) -> Draft | None:
        started = self.clock()
        draft = self.ask(source, sequence, limit)
        spent = 1000 * (self.clock() - started)
        totals = self.totals.setdefault(source, SourceTotals())
        totals.milliseconds += spent
        totals.proposed += len(draft.tokens) if draft else 0
        before = self._propose_ms.get(source, spent)
        self._propose_ms[source] = before * _PROPOSE_MEMORY + spent * (1 - _PROPOSE_MEMORY)
        return draft

    def _grant(self, bids: list[_Bid], rows: int, spare: int) -> None:
        """Give rows to the tokens with the best chances, as many as give the most tokens per millisecond."""
        if not self.priced:
            for bid in bids:
                bid.granted = min(spare, len(bid.chances))
                spare -= bid.granted
            return
        base = self.cost.estimate(rows)
        if base is None or not bids:
            return
        certain = float(len({bid.sequence.id for bid in bids}))
        heap = [(-bid.chances[0], index, 0) for index, bid in enumerate(bids)]
        heapq.heapify(heap)
        order: list[int] = []
        tokens, best_rate, best_count = certain, certain / base * LEAST_GAIN, 0
        proposing = sum(self._propose_ms.get(bid.proposal.source, 0.0) for bid in bids)
        while heap and len(order) < spare:
            chance, index, place = heapq.heappop(heap)
            order.append(index)
            tokens -= chance
            if place + 1 < len(bids[index].chances):
                heapq.heappush(heap, (-bids[index].chances[place + 1], index, place + 1))
            milliseconds = self.cost.estimate(rows + len(order))
            if milliseconds is not None and (rate := tokens / (milliseconds + proposing)) > best_rate:
                best_rate, best_count = rate, len(order)
        for index in order[:best_count]:
            bids[index].granted += 1

    def _watch(self, bid: _Bid) -> None:
        """The bid got no row: remember it to see whether it would have been right. A source that takes long to
        propose is also asked less often."""
        track = self._tracks[bid.sequence.id, bid.proposal.source]
        if not track.shadow:
            track.shadow = tuple(bid.proposal.draft.tokens[:WATCHED])
            track.shadow_at = bid.sequence.known
            track.shadow_kind = bucket(bid.proposal.draft)
        base = self.cost.estimate(1) or 0.0
        if self._propose_ms.get(bid.proposal.source, 0.0) > CHEAP * base:
            track.rest = track.patience
            track.patience = min(LONGEST_REST, 2 * track.patience)

    def _learn_from_shadow(self, source: str, track: Track, sequence: Sequence) -> None:
        if not track.shadow:
            return
        said = sequence.tokens[track.shadow_at :].tolist()
        right = 0
        for guess, token in zip(track.shadow, said, strict=False):
            if guess != token:
                break
            right += 1
        decided = right < min(len(track.shadow), len(said)) or right == len(track.shadow)
        if decided:
            self._observe(source, track, track.shadow_kind, right, right < len(track.shadow))
            track.shadow = ()

    def observe(self, sequence: Sequence, proposal: Proposal, accepted: int, ended: bool) -> None:
        """``accepted`` tokens of a draft that was given rows were kept; the answer ``ended`` with them."""
        drafted = len(proposal.draft.tokens)
        rejected = accepted < drafted and not ended
        totals = self.totals.setdefault(proposal.source, SourceTotals())
        totals.drafted += drafted
        totals.tested += accepted + rejected
        totals.accepted += accepted
        track = self._tracks.setdefault((sequence.id, proposal.source), Track())
        track.patience = Track().patience
        self._observe(proposal.source, track, bucket(proposal.draft), accepted, rejected)

    def _observe(self, source: str, track: Track, kind: Kind, accepted: int, rejected: bool) -> None:
        track.observe(kind, accepted, rejected)
        self._general(source).observe(kind, accepted, rejected)

    def _general(self, source: str) -> SourceOdds:
        return self._odds.setdefault(source, SourceOdds())

    def forget(self, sequence: Sequence) -> None:
        """The sequence has ended."""
        for source in self.sources:
            self._tracks.pop((sequence.id, source), None)
