"""What became of the choices of a request, and which of them are the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reame_core.engine.events import Event, Finished, TextDelta, Won

if TYPE_CHECKING:
    from reame_core.engine.events import TokenLogprob
    from reame_core.server.generation.exchange import Exchange
    from reame_core.server.generation.preparation import Prepared


@dataclass(slots=True)
class Outcome:
    """One choice, growing until it is finished."""

    texts: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finished: Finished | None = None

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def mean_logprob(self) -> float:
        if not self.logprobs:
            return float("-inf")
        return sum(each.logprob for each in self.logprobs) / len(self.logprobs)

    def events(self, choice: int) -> Iterable[Event]:
        """The same again, as events of ``choice``."""
        if self.texts or self.tokens:
            yield TextDelta(choice, self.text, tuple(self.tokens), tuple(self.logprobs))
        if self.finished is not None:
            yield replace(self.finished, choice=choice)


class Outcomes:
    """All choices of all prompts of an exchange."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._all = [Outcome() for request in prepared.requests for _ in range(request.n)]
        self._winners: set[int] = set()

    @property
    def done(self) -> bool:
        return all(outcome.finished is not None for outcome in self._all)

    def take(self, events: Iterable[Event]) -> None:
        """Count in what has come."""
        for event in events:
            outcome = self._all[event.choice]
            match event:
                case TextDelta():
                    outcome.texts.append(event.text)
                    outcome.tokens += event.tokens
                    outcome.logprobs += event.logprobs
                case Finished():
                    outcome.finished = event
                case Won():
                    self._winners.add(event.choice)

    @property
    def by_prompt(self) -> list[list[Outcome]]:
        """All that were computed."""
        groups, start = [], 0
        for request in self._prepared.requests:
            groups.append(self._all[start : start + request.n])
            start += request.n
        return groups

    @property
    def finished(self) -> list[list[Finished]]:
        """How those that have ended did, for each prompt."""
        return [[o.finished for o in group if o.finished is not None] for group in self.by_prompt]

    def answers(self) -> list[Outcome]:
        """Those that are the answer, ``n`` for each prompt, in order."""
        answers: list[Outcome] = []
        start = 0
        for group in self.by_prompt:
            numbers = range(start, start + len(group))
            answers += self._best(group, [number in self._winners for number in numbers])
            start += len(group)
        return answers

    def _best(self, group: Sequence[Outcome], won: Sequence[bool]) -> list[Outcome]:
        """The winner of a vote comes first, then the most probable; as computed where all are wanted."""
        if len(group) == self._prepared.n:
            return list(group)
        ranked = sorted(range(len(group)), key=lambda i: (not won[i], -group[i].mean_logprob, i))
        return [group[i] for i in ranked[: self._prepared.n]]


async def all_outcomes(exchange: Exchange, prepared: Prepared) -> Outcomes:
    """Wait for every choice. Raises what ``Exchange.take`` raises."""
    outcomes = Outcomes(prepared)
    while not outcomes.done:
        outcomes.take(await exchange.take())
    return outcomes
