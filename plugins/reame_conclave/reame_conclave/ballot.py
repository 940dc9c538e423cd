"""One vote, from its first candidate to the verdict: what the engine's hooks and the answer's report share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reame_conclave.judges.answer import Answer
from reame_conclave.judges.markup import behind_thoughts
from reame_conclave.poll import Poll, Vote
from reame_conclave.rules import Rules
from reame_conclave.siblings import Siblings
from reame_conclave.verdict import Verdict, verdict

if TYPE_CHECKING:
    from reame_core.engine.request import SamplingParams
    from reame_core.plugins.api import Candidate, Group


@dataclass(slots=True)
class Ballot:
    """``Request.extra`` of one prompt. The engine thread fills it; who reports on the vote reads it when it is
    over."""

    rules: Rules
    samplings: tuple[SamplingParams, ...] = ()
    siblings: Siblings = field(default_factory=Siblings)
    candidates: tuple[Candidate, ...] = ()
    """As they were when they were judged for the last time."""
    poll: Poll | None = None
    verdict: Verdict | None = None
    answers: dict[int, Answer | None] = field(default_factory=dict)
    """What each candidate that has ended answers."""

    def judge(self, group: Group) -> int | None:
        """The winner, once the vote is over."""
        self.candidates = group.candidates
        poll = self.poll = self._poll(group)
        if poll.running and not self.rules.stop.over(poll):
            return None
        self.verdict = verdict(poll)
        return None if self.verdict is None else self.verdict.winner

    def _poll(self, group: Group) -> Poll:
        running, whole, cut = set(), [], []
        for candidate in group.candidates:
            state = candidate.state.value
            if state == "running":
                running.add(candidate.choice)
            elif state == "ended":
                whole.append(self._vote(candidate))
            elif state == "truncated":
                cut.append(self._vote(candidate))
        return Poll(len(group.candidates), frozenset(running), tuple(whole), tuple(cut))

    def _vote(self, candidate: Candidate) -> Vote:
        choice, text = candidate.choice, behind_thoughts(candidate.text)
        if choice not in self.answers:
            self.answers[choice] = self.rules.judge.read(text)
        place = candidate.place if candidate.place is not None else choice
        return Vote(choice, place, self.answers[choice], text, candidate.logprob)
