"""The state of a vote: who has said what, and what can still come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from reame_conclave.judges.answer import Answer


@dataclass(frozen=True, slots=True)
class Vote:
    """One candidate that has ended and may be chosen."""

    choice: int
    place: int
    """How many candidates had ended in earlier steps; of those that end together the lower number is first."""
    answer: Answer | None
    """None where the judge reads none: it does not vote then."""
    text: str
    logprob: float
    """Of all its tokens together."""


@dataclass(frozen=True, slots=True)
class Party:
    """Votes for one answer, in the order in which they came."""

    answer: Answer
    votes: tuple[Vote, ...]

    @property
    def size(self) -> int:
        return len(self.votes)

    @property
    def choices(self) -> frozenset[int]:
        return frozenset(vote.choice for vote in self.votes)


@dataclass(frozen=True)
class Poll:
    """``candidates`` in all, of which ``running`` have not ended. ``whole`` have ended by themselves, ``cut``
    ones by a limit of tokens: those do not vote unless nobody else can."""

    candidates: int
    running: frozenset[int]
    whole: tuple[Vote, ...]
    cut: tuple[Vote, ...] = ()

    @cached_property
    def voters(self) -> tuple[Vote, ...]:
        """Those whose answers count."""
        voters = _readable(self.whole)
        # While somebody runs there may be somebody who ends by himself.
        return voters or (() if self.running else _readable(self.cut))

    @cached_property
    def parties(self) -> tuple[Party, ...]:
        """By falling size; of equal ones the one that holds the most probable vote comes first. That does not
        depend on the order in which votes came."""
        by_answer: dict[Answer, list[Vote]] = {}
        for vote in sorted(self.voters, key=lambda vote: (vote.place, vote.choice)):
            assert vote.answer is not None
            by_answer.setdefault(vote.answer, []).append(vote)
        parties = [Party(answer, tuple(votes)) for answer, votes in by_answer.items()]
        return tuple(sorted(parties, key=lambda party: (-party.size, rank(most_probable(party.votes)))))

    @property
    def leading(self) -> int:
        """Votes for the answer that has most."""
        return self.parties[0].size if self.parties else 0

    @property
    def following(self) -> int:
        """Votes for the next one."""
        return self.parties[1].size if len(self.parties) > 1 else 0

    @property
    def decided(self) -> bool:
        """Whether nothing that may still come can change the answer: as with an absolute majority."""
        return self.leading > self.following + len(self.running)

    @property
    def tied(self) -> bool:
        return 0 < self.leading == self.following


def _readable(votes: Sequence[Vote]) -> tuple[Vote, ...]:
    return tuple(vote for vote in votes if vote.answer is not None)


def rank(vote: Vote) -> tuple[float, int]:
    """Smaller for more probable sequences; of equal ones for lower numbers."""
    return -vote.logprob, vote.choice


def most_probable(votes: Sequence[Vote]) -> Vote:
    return min(votes, key=rank)
