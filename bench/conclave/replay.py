"""Votes counted on candidates that were generated before: what other sizes and rules would have said and cost.

Candidates advance by one token a step, side by side, so their lengths tell which of them had ended when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reame_conclave.ballot import Ballot
from reame_conclave.judges.auto import Auto
from reame_conclave.judges.values import value_of
from reame_conclave.report import tokens
from reame_conclave.rules import Rules
from reame_conclave.stopping import StopRule, Window

from bench.conclave.candidates import TEMPERATURE, Answered, Said
from bench.conclave.quiz import Item
from reame_core.engine.request import Request
from reame_core.plugins.api import Candidate, CandidateState, Group


@dataclass(frozen=True, slots=True)
class Counted:
    """One item's vote."""

    right: bool
    consensus: int
    generated: int
    """Tokens of all candidates, as far as they came."""
    full: int
    """Tokens of all candidates to their ends."""
    steps: int
    """Until the vote was over."""


def is_right(item: Item, text: str) -> bool:
    """Whether ``text`` answers ``item`` as the judge reads it."""
    read, wanted = Auto().read(text), value_of(item.answer)
    return read is not None and read == wanted


def count(answered: Answered, n: int, stop: StopRule) -> Counted:
    """The vote of the first ``n`` candidates."""
    rules = Rules(candidates=n, coolest=TEMPERATURE, hottest=TEMPERATURE, judge=Auto(), stop=stop)
    said = answered.candidates[:n]
    starts = _starts(said, stop.size if isinstance(stop, Window) else n)
    ballot = Ballot(rules)
    request = Request(prompt=(0,), n=n, select=True)
    for step in sorted({start + each.tokens for start, each in zip(starts, said, strict=True)}):
        winner = ballot.judge(Group(request, tuple(_state(said, starts, choice, step) for choice in range(n))))
        if winner is not None:
            break
    assert ballot.verdict is not None
    return Counted(
        right=is_right(answered.item, said[ballot.verdict.winner].text),
        consensus=ballot.verdict.consensus,
        generated=tokens(ballot)["generated"],
        full=sum(each.tokens for each in said),
        steps=step,
    )


def _starts(said: Sequence[Said], size: int) -> list[int]:
    """The step before each candidate's first token: ``size`` at a time start, when those before have ended."""
    starts: list[int] = []
    for first in range(0, len(said), size):
        begin = max((start + each.tokens for start, each in zip(starts, said, strict=False)), default=0)
        starts += [begin] * len(said[first : first + size])
    return starts


def _state(said: Sequence[Said], starts: Sequence[int], choice: int, step: int) -> Candidate:
    """What is known of a candidate after ``step`` steps."""
    candidate = said[choice]
    end = starts[choice] + candidate.tokens
    if end > step:
        return Candidate(choice, CandidateState.RUNNING, "", max(0, step - starts[choice]), 0.0)
    state = CandidateState.TRUNCATED if candidate.cut else CandidateState.ENDED
    place = sum(start + each.tokens < end for start, each in zip(starts, said, strict=True))
    return Candidate(choice, state, candidate.text, candidate.tokens, candidate.logprob, place)
