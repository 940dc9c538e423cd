"""Drafts that have to be computed, by a smaller model for example, and are asked for only where that pays.

A looked-up draft costs nothing until it gets rows. A computed one costs milliseconds for each of its tokens,
on the very processor that the target needs, so the question comes before the draft: with the source's price
and its odds, how many tokens of how long a draft would this batch give per millisecond, against the same
batch without? What is asked for is then verified in any case: to drop drafts by what was drawn would change
the distribution of what is sampled.

Where it does not pay the source is tried rarely, out of a small share of the time that decoding takes, and
its guesses are compared with what comes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, field

from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import LEAST_GAIN, DraftRoom, Gain, Proposal
from reame_core.engine.odds import Kind, Tally, Track
from reame_core.engine.records import WATCHED, Records
from reame_core.engine.sequence import Sequence
from reame_core.plugins.api import Draft, DraftPrice, DraftWish

WINDOWS = (1, 2, 3, 4, 5, 6, 7, 9, 11, 15, 23, 31, 47, 63)
"""With the newest token in front, batches for which kernels are made."""
TRIAL_SHARE = 0.01
"""Of the time that decoding takes, for drafts that are not believed to pay."""
FIRST_TRIALS = 6
"""One-row batches' worth of such drafts before that time has come."""
INVESTMENT = 0.03
"""Of the time that the rest of an answer takes, the most that a source may need to read the text so far for a
trial. What is begun is read to its end."""
_LONG = 512
"""Tokens: no answer is taken to be longer than that for it."""
_OUTLOOK = 64
"""An answer goes on for at least about so many tokens, and for as many as it has."""
_NOT_NOW = 4
"""Steps to wait where drafts do not pay."""
_MEMORY = 0.98
_GOES_ON, _GOES_ON_WEIGHT = 0.9, 8.0
"""A source is expected to add another token to a draft with 90 %, until more is known."""

AskPrice = Callable[[str, Many[DraftWish]], DraftPrice | None]
AskDrafts = Callable[[str, Many[DraftWish]], Many[Draft | None] | None]


def kind_of(sequence: Sequence) -> Kind:
    """How computed drafts for ``sequence`` are judged: those for sampled answers are kept more rarely."""
    if sequence.draws:
        return Kind("drawn")
    return Kind("sampled" if sequence.request.sampling.temperature > 0 else "greedy")


def _wish(sequence: Sequence, limit: int) -> DraftWish:
    return DraftWish(sequence, min(limit, sequence.room - 1), sequence.draws)


@dataclass(frozen=True, slots=True)
class _Plan:
    """``limit`` tokens of ``source`` for each of ``sequences``."""

    source: str
    sequences: tuple[Sequence, ...]
    limit: int
    price: DraftPrice
    rate: float
    """Expected tokens per millisecond of the batch."""


@dataclass(slots=True)
class ComputedDrafts:
    """``price`` and ``compute`` ask a source, ``cost`` prices batches."""

    sources: tuple[str, ...]
    price: AskPrice
    compute: AskDrafts
    cost: BatchCost
    records: Records
    clock: Callable[[], float] = time.perf_counter
    priced: bool = True
    """False asks for as much as there is room for, paying or not."""
    _credit: dict[str, float] = field(default_factory=dict)
    """Milliseconds that each source may spend on trials; below 0 there are none."""
    _lengths: dict[str, Tally] = field(default_factory=dict)
    """Tokens that were drafted, and drafts that ended before their limit."""

    def choose(
        self,
        sequences: Many[Sequence],
        promised: Mapping[int, float],
        rows: int,
        room: DraftRoom,
        gain: Gain | None,
    ) -> dict[int, Proposal]:
        """Drafts to be verified, by the id of their sequence. ``rows`` are in the batch already, and there is
        ``room`` for more; cheap drafts have been ``promised`` rows (expected tokens by sequence) and give the
        batch the expected ``gain``."""
        if gain is None or room.most < 1:
            return {}
        plans = [
            plan
            for source in self.sources
            if (plan := self._plan(source, sequences, promised, rows, room, gain))
        ]
        if not plans:
            return {}
        best = max(plans, key=lambda plan: plan.rate)
        if not self.priced or best.rate > gain.rate * LEAST_GAIN:
            return self._ask(best)
        chosen: dict[int, Proposal] = {}
        for plan in plans:
            chosen |= self._try(plan, {**promised, **dict.fromkeys(chosen, 1.0)}, room.most)
        return chosen

    def _plan(
        self,
        source: str,
        sequences: Many[Sequence],
        promised: Mapping[int, float],
        rows: int,
        room: DraftRoom,
        gain: Gain,
    ) -> _Plan | None:
        """The best length for drafts by ``source``, for all sequences it may serve better than others."""
        self._earn(source)
        chances: dict[int, float] = {}
        served = []
        for sequence in sequences:
            chance = self._chance(source, sequence)
            if chance is not None and promised.get(sequence.id, 0.0) < chance / (1 - chance):
                served.append(sequence)
                chances[sequence.id] = chance
        bystanders = sum(s.id not in chances and s.id not in promised for s in sequences)
        free = room.gentle if bystanders and room.gentle is not None else room.most
        served = served[: max(0, free)]
        if not served:
            return None
        most = free // len(served)
        wishes = [_wish(sequence, most) for sequence in served]
        price = self.price(source, wishes)
        if price is None:
            return None
        most = min(most, price.most)
        goes_on = self._goes_on(source)
        others = sum(promised.get(s.id, 0.0) for s in sequences if s.id not in chances)
        outlook = sum(min(s.room, _OUTLOOK + s.generated) for s in served)
        best: _Plan | None = None
        for limit in (*(window for window in WINDOWS if window < most), most):
            tokens = len(sequences) + others
            tokens += sum(_sum_of_powers(goes_on * chances[s.id], min(limit, s.room - 1)) for s in served)
            drafted = _sum_of_powers(goes_on, limit)
            wanted = rows + round(drafted * len(served))
            batch = self.cost.estimate(wanted, len(sequences), silent=room.silent) or gain.milliseconds
            asking = price.per_token * drafted / goes_on + price.catch_up * min(1.0, tokens / outlook)
            rate = tokens / (batch + asking)
            if best is None or rate > best.rate or not self.priced:
                best = _Plan(source, tuple(served), limit, price, rate)
        return best

    def _earn(self, source: str) -> None:
        single = self.cost.estimate(1) or 0.0
        most = FIRST_TRIALS * single
        self._credit[source] = min(most, self._credit.get(source, most) + TRIAL_SHARE * single)

    def _chance(self, source: str, sequence: Sequence) -> float | None:
        """Of a drafted token to be kept; None for a sequence that gets no drafts of ``source`` now."""
        if not sequence.decoding or not sequence.request.speculate or sequence.room < 2:
            return None
        track = self.records.track(source, sequence)
        if track.rest:
            track.rest -= 1
            return None
        return self.records.chance(source, track, kind_of(sequence))

    def _goes_on(self, source: str) -> float:
        """The chance that a draft gets another token, if there is room for it."""
        tally = self._lengths.get(source)
        if tally is None:
            return _GOES_ON
        return (tally.accepted + _GOES_ON * _GOES_ON_WEIGHT) / (tally.tested + _GOES_ON_WEIGHT)

    def _ask(self, plan: _Plan) -> dict[int, Proposal]:
        drafts, _ = self._timed(plan.source, plan.sequences, plan.limit)
        return {
            sequence.id: Proposal(plan.source, draft, kind_of(sequence))
            for sequence, draft in zip(plan.sequences, drafts, strict=True)
            if draft is not None and draft.tokens
        }

    def _timed(self, source: str, sequences: Many[Sequence], limit: int) -> tuple[Many[Draft | None], float]:
        """Drafts of up to ``limit`` tokens in the order of ``sequences``, and the milliseconds they took."""
        wishes = [_wish(sequence, limit) for sequence in sequences]
        started = self.clock()
        drafts = self.compute(source, wishes) or [None] * len(wishes)
        spent = 1000 * (self.clock() - started)
        self.records.asked(source, sequences, drafts, spent)
        lengths = self._lengths.setdefault(source, Tally(_MEMORY))
        for wish, draft in zip(wishes, drafts, strict=True):
            if draft is not None:
                lengths.observe(len(draft.tokens), len(draft.tokens) < wish.limit)
        return drafts, spent

    def _try(self, plan: _Plan, promised: Mapping[int, float], room: int) -> dict[int, Proposal]:
        """A short draft for one sequence, where there is time to spare. It gets no rows, unless it was drawn:
        whether one draw equals another tells too little."""
        tracks = {s.id: self.records.track(plan.source, s) for s in plan.sequences}
        for each in tracks.values():
            each.rest = _NOT_NOW
        sequence = min(plan.sequences, key=lambda s: (not tracks[s.id].reading, s.known))
        track = tracks[sequence.id]
        limit = min(WATCHED, plan.price.most, room)
        price = self.price(plan.source, [_wish(sequence, limit)])
        if price is None or promised.get(sequence.id) or not self._may_try(plan.source, price, sequence, track):
            return {}
        [draft], spent = self._timed(plan.source, [sequence], limit)
        self._credit[plan.source] -= spent
        if draft is None:
            track.reading = price.catch_up
            track.rest = 0 if track.reading else _NOT_NOW
            return {}
        track.reading = 0.0
        track.rest = track.patience
        if track.doubted:
            track.patience *= 2
        if not draft.tokens:
            return {}
        proposal = Proposal(plan.source, draft, kind_of(sequence))
        if sequence.draws:
            return {sequence.id: proposal}
        self.records.keep_unpaid(sequence, proposal)
        return {}

    def _may_try(self, source: str, price: DraftPrice, sequence: Sequence, track: Track) -> bool:
        """Whether there is time for it, or the source gets on with what it has begun to read."""
        if price.catch_up < track.reading:
            return True
        answer = (self.cost.estimate(1) or 0.0) * min(sequence.room, _LONG)
        return self._credit[source] > 0 and price.catch_up <= INVESTMENT * answer


def _sum_of_powers(base: float, terms: int) -> float:
    """base + base ** 2 + … of so many ``terms``."""
    return base * (1 - base**terms) / (1 - base) if base < 1 else float(terms)
