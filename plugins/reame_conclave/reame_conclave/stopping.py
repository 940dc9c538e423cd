"""When a vote is over before all candidates have ended."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Literal, Protocol

from reame_conclave.poll import Poll

StopName = Literal["majority", "beta", "window", "never"]
STOP_NAMES: tuple[StopName, ...] = ("majority", "beta", "window", "never")


class StopRule(Protocol):
    """Decides whether to let the other candidates go on."""

    @property
    def name(self) -> StopName:
        """As requests call it."""
        ...

    def over(self, poll: Poll) -> bool:
        """Whether enough has been said."""
        ...


class Majority:
    """Over when nothing that may still come can change the answer; the winner is that of the full vote."""

    name: StopName = "majority"

    def over(self, poll: Poll) -> bool:
        return poll.decided


@dataclass(frozen=True, slots=True)
class Beta:
    """Adaptive consistency (Aggarwal et al. 2023): over when the leading answer is more frequent than the next
    one with at least this ``confidence``, by the Beta posterior of their votes under an even prior."""

    confidence: float = 0.95
    name: StopName = "beta"

    def over(self, poll: Poll) -> bool:
        return poll.decided or (
            poll.leading > 0 and stays_ahead(poll.leading, poll.following) >= self.confidence
        )


@dataclass(frozen=True, slots=True)
class Window:
    """Early-stopping self-consistency (Li et al. 2024): candidates come in windows of ``size``, and the vote is
    over when all of one window say the same."""

    size: int = 3
    name: StopName = "window"

    def over(self, poll: Poll) -> bool:
        if poll.decided:
            return True
        starts = range(0, poll.candidates - self.size + 1, self.size)
        return any(
            party.choices.issuperset(range(start, start + self.size))
            for start in starts
            for party in poll.parties
        )


class Never:
    """Every candidate ends."""

    name: StopName = "never"

    def over(self, poll: Poll) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Agreement:
    """Another rule, but not before it is certain whether ``share`` of all candidates agree."""

    rule: StopRule
    share: float

    @property
    def name(self) -> StopName:
        return self.rule.name

    def over(self, poll: Poll) -> bool:
        reached = reaches(poll.leading, poll.candidates, self.share)
        possible = reaches(poll.leading + len(poll.running), poll.candidates, self.share)
        return self.rule.over(poll) and (reached or not possible)


def reaches(votes: int, candidates: int, share: float) -> bool:
    """Whether ``votes`` are at least ``share`` of ``candidates``: 3 of 5 are 0.6, whatever floats say."""
    return votes >= share * candidates - 1e-9


def stays_ahead(leading: int, following: int) -> float:
    """The probability that an answer is given more often than another one, after so many votes for each: that
    of Beta(leading + 1, following + 1) above 1/2, which for whole numbers is a sum over a fair coin."""
    tosses = leading + following + 1
    favourable = sum(comb(tosses, heads) for heads in range(leading + 1))
    return float(favourable / (1 << tosses))
