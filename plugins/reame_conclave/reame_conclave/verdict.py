"""Who has won a vote that is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reame_conclave.judges.prose import similarities
from reame_conclave.poll import Poll, Vote, most_probable, rank

ALIKE = 0.5
"""Texts whose words agree at least so much (Jaccard) say the same, as far as can be told of prose."""
How = Literal["votes", "tie", "prose", "probability"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of a vote."""

    winner: int
    """A candidate's number."""
    consensus: int
    """How many candidates say what it says, itself included; 0 where that cannot be told."""
    how: How
    """``votes``: more votes than any other answer. ``tie``: as many as another, but the most probable sequence.
    ``prose``: there was no answer to vote for, the text is the nearest to all others. ``probability``: just the
    most probable sequence."""


def verdict(poll: Poll) -> Verdict | None:
    """The winner as things are; None where no candidate has ended well."""
    parties = poll.parties
    if not parties or (poll.leading == 1 and _prose_alone(poll)):
        return _of_prose(poll)
    if poll.tied:
        tied = [party for party in parties if party.size == poll.leading]
        vote = most_probable([vote for party in tied for vote in party.votes])
        return Verdict(vote.choice, poll.leading, "tie")
    # The first that said so: whoever came later cannot change that, so that stopping early changes nothing.
    return Verdict(parties[0].votes[0].choice, poll.leading, "votes")


def _prose_alone(poll: Poll) -> bool:
    """Whether several texts were compared as such, and no two were the same."""
    return len(poll.parties) > 1 and all(party.answer.kind == "text" for party in poll.parties)


def _of_prose(poll: Poll) -> Verdict | None:
    texts = _with_text(poll.whole) or (() if poll.running else _with_text(poll.cut))
    if not texts:
        left = poll.whole or poll.cut
        return Verdict(most_probable(left).choice, 0, "probability") if left else None
    table = similarities([vote.text for vote in texts])
    # Rounded, since the order in which numbers are added up must not decide.
    nearness = [round(sum(row), 9) for row in table]
    best = max(range(len(texts)), key=lambda i: (nearness[i], *(-part for part in rank(texts[i]))))
    if len(texts) == 1 and not poll.parties:
        return Verdict(texts[best].choice, 0, "probability")
    alike = sum(similarity >= ALIKE for similarity in table[best])
    return Verdict(texts[best].choice, alike, "prose")


def _with_text(votes: Sequence[Vote]) -> tuple[Vote, ...]:
    return tuple(vote for vote in votes if vote.text.strip())
