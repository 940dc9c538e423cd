"""What is told of a vote: in the response, in a header, and in a line for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reame_conclave.ballot import Ballot
from reame_conclave.stopping import reaches

if TYPE_CHECKING:
    from reame_core.plugins.api import Candidate

CONSENSUS_HEADER = "x-reame-consensus"
ESCALATE_HEADER = "x-reame-escalate"


def report(ballots: Sequence[Ballot]) -> object:
    """``reame.plugins.conclave``: an object, or a list of them for several prompts."""
    told = [_of_ballot(ballot) for ballot in ballots]
    return told[0] if len(told) == 1 else told


def headers(ballots: Sequence[Ballot]) -> dict[str, str]:
    """The votes for the answer, of all, for each prompt; and whether any of them asks for more."""
    named = {CONSENSUS_HEADER: ", ".join(f"{consensus(b)}/{b.rules.candidates}" for b in ballots)}
    if any(ballot.rules.min_consensus is not None for ballot in ballots):
        named[ESCALATE_HEADER] = "true" if any(escalates(ballot) for ballot in ballots) else "false"
    return named


def notes(ballots: Sequence[Ballot]) -> list[str]:
    """A line for each prompt."""
    return [_note(ballot) for ballot in ballots]


def consensus(ballot: Ballot) -> int:
    """How many candidates say what the winner says."""
    return 0 if ballot.verdict is None else ballot.verdict.consensus


def escalates(ballot: Ballot) -> bool:
    """Whether fewer agree than were asked for."""
    share = ballot.rules.min_consensus
    return share is not None and not reaches(consensus(ballot), ballot.rules.candidates, share)


def tokens(ballot: Ballot) -> dict[str, int]:
    """``generated`` by all candidates; ``cancelled``, those of them that were stopped; ``saved``, an estimate
    of what those would have gone on to say: as much as the others did."""
    ended = [each.tokens for each in ballot.candidates if each.state.value in ("ended", "truncated")]
    stopped = [each.tokens for each in ballot.candidates if each.state.value == "running"]
    mean = sum(ended) / len(ended) if ended else 0.0
    return {
        "generated": sum(each.tokens for each in ballot.candidates),
        "cancelled": sum(stopped),
        "saved": round(sum(max(0.0, mean - each) for each in stopped)),
    }


def _of_ballot(ballot: Ballot) -> dict[str, Any]:
    rules, verdict = ballot.rules, ballot.verdict
    poll = ballot.poll
    winner = None if verdict is None else verdict.winner
    answer = None if winner is None else ballot.answers.get(winner)
    told: dict[str, Any] = {
        "n": rules.candidates,
        "consensus": consensus(ballot),
        "decided_by": None if verdict is None else verdict.how,
        "winner": winner,
        "answer": None if answer is None else answer.shown,
        "judge": rules.judge.name,
        "stop": rules.stop.name,
        "votes": [
            {
                "answer": party.answer.shown,
                "votes": party.size,
                "candidates": sorted(party.choices),
            }
            for party in (poll.parties if poll is not None else ())
        ],
        "tokens": tokens(ballot),
        "escalate": escalates(ballot),
    }
    if rules.show_candidates:
        told["candidates"] = [_of_candidate(ballot, candidate) for candidate in ballot.candidates]
    return told


def _of_candidate(ballot: Ballot, candidate: Candidate) -> dict[str, Any]:
    answer = ballot.answers.get(candidate.choice)
    choice = candidate.choice
    return {
        "index": choice,
        "text": candidate.text,
        "state": "stopped" if candidate.state.value == "running" else candidate.state.value,
        "answer": None if answer is None else answer.shown,
        "tokens": candidate.tokens,
        "logprob": round(candidate.logprob, 4),
        "temperature": ballot.samplings[choice].temperature if choice < len(ballot.samplings) else None,
    }


def _note(ballot: Ballot) -> str:
    spent = tokens(ballot)
    how = "none" if ballot.verdict is None else ballot.verdict.how
    line = (
        f"CONCLAVE consensus={consensus(ballot)}/{ballot.rules.candidates} by={how} "
        f"tokens={spent['generated']} cancelled={spent['cancelled']} saved={spent['saved']}"
    )
    return f"{line} escalate" if escalates(ballot) else line
