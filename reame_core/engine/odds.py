"""How often a source of drafts is right: what was seen of it in general, and lately in one sequence."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul
from typing import NamedTuple

from reame_core.engine.events import Decisions
from reame_core.plugins.api import Draft

_PRIOR, _PRIOR_WEIGHT = 0.6, 4.0
"""A source nobody knows yet is right with 60 %, and that opinion weighs as much as four tokens."""
_PRIOR_SAMPLED = 0.4
"""Where tokens are drawn the likely ones come less often, and whether the first proposals would have been right
is seen without giving them rows."""
_LONG_MATCH = 6
_BELIEFS = (0.25, 0.5, 0.75, 0.98)
"""Steps of what a source says itself; from the last but one on it is sure, from the last one on it knows."""
_SURE, _KNOWS = 3, 4
_PRIOR_LONG, _PRIOR_LONG_AND_SURE = 0.75, 0.95
"""What is known by 32 tokens or more was said before, and where the source is sure as well, in this place."""
_PRIOR_RULE = 0.9
"""What a source knows that has not matched any text follows from a rule, as what a schema forces does. Of that
there is too little in an answer to wait until it has been seen to be right."""
_GENERAL_MEMORY = 0.995
_LATE_MEMORY = 0.85
_LATE_MOST = 32.0
"""Tokens: were it more, the long drafts of a source that was always right would outweigh its first failures."""
_GENERAL_WEIGHT = 4.0
"""Tokens of a sequence that count as much as everything seen before it."""
_MOST = 0.998


@dataclass(slots=True)
class Tally:
    """Drafted tokens that were tested and kept, older ones counting less."""

    memory: float
    most: float = math.inf
    """Tokens that count at most."""
    accepted: float = 0.0
    tested: float = 0.0

    def observe(self, accepted: int, rejected: bool) -> None:
        """``accepted`` tokens were kept, and then one was ``rejected`` or the draft ended."""
        self.accepted = self.accepted * self.memory + accepted
        self.tested = self.tested * self.memory + accepted + rejected
        if self.tested > self.most:
            self.accepted *= self.most / self.tested
            self.tested = self.most


class Kind(NamedTuple):
    """Drafts of one source that should be equally good."""

    label: str = ""
    match: int = 0
    belief: int = -1
    sampled: bool = False
    """Whether the text is drawn: the same draft is right less often then."""

    @property
    def said_here(self) -> bool:
        """Whether the very same text is there already, as far as the source can tell."""
        return self.match >= _LONG_MATCH and self.belief >= _KNOWS


_ANY_KIND = Kind()


def bucket(draft: Draft, *, sampled: bool = False) -> Kind:
    """By what the draft was made of, the length of the match and what the source says itself, for a text that
    is ``sampled`` or the most likely one."""
    # What a source believes of tokens it has drawn must not decide whether they are used: those it likes would
    # come more often than the target draws them.
    if draft.distributions is not None:
        return Kind(draft.label, sampled=sampled)
    match = min(6, (draft.match_length or 0).bit_length())
    belief = -1 if draft.confidence is None else bisect_right(_BELIEFS, draft.confidence)
    return Kind(draft.label, match, belief, sampled)


def _prior(kind: Kind) -> float:
    """The chance of a token before anything was seen of its kind."""
    if not kind.match and kind.belief >= _KNOWS:
        return _PRIOR_RULE
    if kind.match < _LONG_MATCH:
        return _PRIOR_SAMPLED if kind.sampled else _PRIOR
    return _PRIOR_LONG_AND_SURE if kind.belief >= _SURE else _PRIOR_LONG


@dataclass(slots=True)
class SourceOdds:
    """What is known of one source in general, by ``bucket``."""

    tallies: dict[Kind, Tally] = field(default_factory=dict)

    def chance(self, kind: Kind) -> float:
        """The chance of one drafted token to be kept."""
        prior, tally = _prior(kind), self.tallies.get(kind)
        if tally is None:
            return prior
        return (tally.accepted + prior * _PRIOR_WEIGHT) / (tally.tested + _PRIOR_WEIGHT)

    def observe(self, kind: Kind, accepted: int, rejected: bool) -> None:
        """See ``Tally``."""
        self.tallies.setdefault(kind, Tally(_GENERAL_MEMORY)).observe(accepted, rejected)


@dataclass(slots=True)
class Track:
    """One source in one sequence: its late record by label and length of the match, and a proposal that is
    compared with what comes."""

    late: dict[tuple[str, int], Tally] = field(default_factory=dict)
    shadow: tuple[int, ...] = ()
    """A proposal that was not paid for: what the sequence says next tells what it would have been worth."""
    shadow_at: int = 0
    """How many tokens were known when it was made."""
    shadow_kind: Kind = _ANY_KIND
    shadow_space: int | None = None
    reading: float = 0.0
    """Milliseconds that the source would have needed to read on, when it last did so for a trial and came to no
    draft."""
    rest: int = 0
    """Steps until the source is asked again."""
    patience: int = 4
    """Steps to rest when it does not pay the next time; doubles, and falls back when it pays."""
    decisions: Decisions = field(default_factory=Decisions)
    """About its drafts in this sequence."""

    @property
    def doubted(self) -> bool:
        """Whether any of its tokens was not what came next."""
        return any(tally.accepted < tally.tested for tally in self.late.values())

    def chance(self, kind: Kind, general: float) -> float:
        """The chance of a token to be kept, from the late record and the ``general`` opinion."""
        late = self.late.get(kind[:2])
        if late is None:
            return min(_MOST, general)
        return min(_MOST, (late.accepted + _GENERAL_WEIGHT * general) / (late.tested + _GENERAL_WEIGHT))

    def observe(self, kind: Kind, accepted: int, rejected: bool) -> None:
        """See ``Tally``."""
        self.late.setdefault(kind[:2], Tally(_LATE_MEMORY, _LATE_MOST)).observe(accepted, rejected)


def expected(chances: Iterable[float]) -> list[float]:
    """What each of some drafted tokens is worth, the chance that it is kept: from the ``chances`` that it is
    where all before it are."""
    return list(accumulate((min(_MOST, chance) for chance in chances), mul))
