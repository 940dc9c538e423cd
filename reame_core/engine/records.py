"""What became of drafts: by source, and by source in each sequence."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, field, replace

from reame_core.engine.bids import Proposal
from reame_core.engine.events import Decisions
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


@dataclass(slots=True)
class Records:
    """``totals`` by source, ``tracks`` by sequence and source."""

    totals: dict[str, SourceTotals] = field(default_factory=dict)
    tracks: dict[tuple[int, str], Track] = field(default_factory=dict)
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
            track.shadow_kind = proposal.kind

    def _learn_from_shadow(self, source: str, track: Track, sequence: Sequence) -> None:
        said = sequence.tokens[track.shadow_at :].tolist()
        right = 0
        for guess, token in zip(track.shadow, said, strict=False):
            if guess != token:
                break
            right += 1
        decided = right < min(len(track.shadow), len(said)) or right == len(track.shadow)
        if decided:
            self._learn(source, track, track.shadow_kind, right, right < len(track.shadow))
            track.shadow = ()

    def observe(self, sequence: Sequence, proposal: Proposal, accepted: int, ended: bool) -> None:
        """``accepted`` tokens of a draft that was given rows were kept; the answer ``ended`` with them."""
        drafted = len(proposal.draft.tokens)
        rejected = accepted < drafted and not ended
        totals = self.total(proposal.source)
        totals.paid += 1
        totals.drafted += drafted
        totals.tested += accepted + rejected
        totals.accepted += accepted
        track = self.tracks.setdefault((sequence.id, proposal.source), Track())
        track.decisions.paid += 1
        track.patience = Track().patience
        self._learn(proposal.source, track, proposal.kind, accepted, rejected)

    def _learn(self, source: str, track: Track, kind: Kind, accepted: int, rejected: bool) -> None:
        track.observe(kind, accepted, rejected)
        self.general(source).observe(kind, accepted, rejected)

    def forget(self, sequence: Sequence) -> None:
        """The sequence has ended."""
        for source in self.totals:
            self.tracks.pop((sequence.id, source), None)
