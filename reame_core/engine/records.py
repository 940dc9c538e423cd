"""What became of drafts: by source, and by source in each sequence."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, field, replace

from reame_core.engine.bids import Proposal
from reame_core.engine.events import Decisions
from reame_core.engine.forks import LONGEST_PAST, Forks
from reame_core.engine.odds import Kind, SourceOdds, Track
from reame_core.engine.sequence import Sequence
from reame_core.plugins.api import Draft

WATCHED = 4
"""Tokens of a proposal without rows that are compared with what comes: few, to know soon."""


@dataclass(slots=True)
class SourceTotals(Decisions):
    """What became of one source's drafts in this process."""

    proposed: int = 0
    """Tokens in all of them."""
    drafted: int = 0
    """Tokens that were given rows."""
    tested: int = 0
    """Tokens the target had an opinion on: the kept ones and the first rejected."""
    accepted: int = 0


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The tokens of ``sequence`` from ``start`` on were drafted: ``right`` ones, and then one was ``rejected``,
    or there was no more to tell."""

    sequence: Sequence
    start: int
    right: int
    rejected: bool

    @property
    def texts(self) -> tuple[list[int], list[int]]:
        """The tokens before, and the right ones."""
        tokens = self.sequence.tokens
        before = tokens[max(0, self.start - LONGEST_PAST) : self.start]
        return before.tolist(), tokens[self.start : self.start + self.right].tolist()


def _compared(sequence: Sequence, start: int, drafted: Many[int]) -> _Outcome:
    right = 0
    said = sequence.tokens[start : start + len(drafted)].tolist()
    for token, guess in zip(said, drafted, strict=False):
        if guess != token:
            break
        right += 1
    return _Outcome(sequence, start, right, right < len(said))


@dataclass(slots=True)
class Records:
    """``totals`` by source, ``tracks`` by sequence and source."""

    totals: dict[str, SourceTotals] = field(default_factory=dict)
    tracks: dict[tuple[int, str], Track] = field(default_factory=dict)
    forks: Forks = field(default_factory=Forks)
    _odds: dict[str, SourceOdds] = field(default_factory=dict)

    def total(self, source: str) -> SourceTotals:
        """The totals of ``source``, to be added to."""
        return self.totals.setdefault(source, SourceTotals())

    def general(self, source: str) -> SourceOdds:
        """What is known of ``source`` from all sequences."""
        return self._odds.setdefault(source, SourceOdds())

    def track(self, source: str, sequence: Sequence) -> Track:
        """``source`` in ``sequence``, with what the newest tokens tell about its last proposal without rows."""
        track = self.tracks.setdefault((sequence.id, source), Track())
        if track.shadow:
            self._learn_from_shadow(source, track, sequence)
        return track

    def chance(self, source: str, track: Track, kind: Kind) -> float:
        """The chance of a drafted token to be kept."""
        return track.chance(kind, self.general(source).chance(kind))

    @staticmethod
    def space(source: str, sequence: Sequence, kind: Kind) -> int:
        """Where ``forks`` keeps what becomes of such drafts; of another tenant's it tells nothing."""
        return hash((source, sequence.request.tenant, kind.label, kind.sampled, kind.said_here))

    def asked(
        self, source: str, sequences: Many[Sequence], drafts: Many[Draft | None], milliseconds: float
    ) -> None:
        """``source`` was asked for drafts of ``sequences``, which took so many ``milliseconds`` together."""
        totals = self.total(source)
        totals.asked += len(sequences)
        totals.proposed += sum(len(draft.tokens) for draft in drafts if draft is not None)
        totals.milliseconds += milliseconds
        for sequence in sequences:
            mine = self.tracks[sequence.id, source].decisions
            mine.asked += 1
            mine.milliseconds += milliseconds / len(sequences)

    def decisions(self, sequence: Sequence) -> dict[str, Decisions]:
        """What was decided for ``sequence``, by source."""
        tracks = {source: self.tracks.get((sequence.id, source)) for source in self.totals}
        return {s: replace(track.decisions) for s, track in tracks.items() if track and track.decisions.asked}

    def keep_unpaid(self, sequence: Sequence, proposal: Proposal) -> None:
        """The proposal got no row: remember it to see whether it would have been right."""
        self.total(proposal.source).unpaid += 1
        track = self.tracks[sequence.id, proposal.source]
        track.decisions.unpaid += 1
        if not track.shadow:
            track.shadow = tuple(proposal.draft.tokens[:WATCHED])
            track.shadow_at = sequence.known
            track.shadow_kind, track.shadow_space = proposal.kind, proposal.space

    def _learn_from_shadow(self, source: str, track: Track, sequence: Sequence) -> None:
        outcome = _compared(sequence, track.shadow_at, track.shadow)
        if outcome.rejected or outcome.right == len(track.shadow):
            self._learn(source, track, track.shadow_kind, track.shadow_space, outcome)
            track.shadow = ()

    def observe(self, sequence: Sequence, proposal: Proposal, start: int, kept: int) -> None:
        """What ``sequence`` says from its token ``start`` on tells what ``proposal`` was worth, whose draft was
        given rows. The verifier ``kept`` so many of its tokens, and may then have said the next one itself."""
        drafted = len(proposal.draft.tokens)
        whole = proposal.draft.tokens if proposal.behind is None else (*proposal.draft.tokens, proposal.behind)
        outcome = _compared(sequence, start, whole)
        if kept < min(drafted, outcome.right):
            outcome = replace(outcome, right=kept, rejected=True)
        accepted = min(outcome.right, drafted)
        totals = self.total(proposal.source)
        totals.paid += 1
        totals.drafted += drafted
        totals.tested += accepted + (outcome.rejected and accepted < drafted)
        totals.accepted += accepted
        track = self.tracks.setdefault((sequence.id, proposal.source), Track())
        track.decisions.paid += 1
        track.patience = Track().patience
        self._learn(proposal.source, track, proposal.kind, proposal.space, outcome)

    def _learn(self, source: str, track: Track, kind: Kind, space: int | None, outcome: _Outcome) -> None:
        track.observe(kind, outcome.right, outcome.rejected)
        self.general(source).observe(kind, outcome.right, outcome.rejected)
        if space is not None:
            before, kept = outcome.texts
            self.forks.observe(space, before, kept, outcome.rejected)

    def forget(self, sequence: Sequence) -> None:
        """The sequence has ended."""
        for source in self.totals:
            track = self.tracks.pop((sequence.id, source), None)
            if track is not None and track.shadow:
                outcome = _compared(sequence, track.shadow_at, track.shadow)
                self._learn(source, track, track.shadow_kind, track.shadow_space, outcome)
