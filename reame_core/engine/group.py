"""All choices of one request and the way back to its owner."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from reame_core.engine.events import Event, Failed, Finished, Won
from reame_core.engine.request import Request
from reame_core.engine.sequence import Sequence
from reame_core.plugins.api import Candidate, CandidateState, Group

log = logging.getLogger("reame.engine")

Sink = Callable[[list[Event]], None]
"""Takes the events of one step, in order. Called on the engine thread: it must be quick and not raise."""


class RequestGroup:
    """``copies`` greedy choices are all the same text: it is computed once and delivered for each."""

    def __init__(self, request: Request, sink: Sink) -> None:
        self.request = request
        alike = request.sampling.temperature == 0 and not request.select and not request.sampling_by_choice
        self.copies = request.n if alike else 1
        self.sequences: list[Sequence] = []
        self.winner: int | None = None
        self.cancelled = False
        self._sink = sink
        self._events: list[Event] = []
        self._ended: dict[int, CandidateState] = {}
        self._places: dict[int, int] = {}
        self._judged = 0
        self._started = 0

    @property
    def choices(self) -> int:
        """How many choices have to be computed."""
        return self.request.n // self.copies

    @property
    def done(self) -> bool:
        return len(self._ended) == self.choices

    def ended(self, choice: int) -> bool:
        """Whether ``choice`` has had its last event."""
        return choice in self._ended

    def next_wave(self) -> list[Sequence]:
        """Choices to start now, in order: the first ones at first, and more when those before have ended
        without a winner."""
        if self.cancelled or self.winner is not None or len(self._ended) < self._started:
            return []
        first = self._started
        self._started = len(self.sequences) if self.request.wave is None else first + self.request.wave
        return self.sequences[first : self._started]

    @property
    def to_judge(self) -> bool:
        """Whether a choice has ended since the last judgement, and there is no winner yet."""
        return self.request.select and self.winner is None and len(self._ended) > self._judged

    def judged(self, winner: int | None) -> None:
        """Remember that the choices that have ended by now were judged."""
        self._judged = len(self._ended)
        self.winner = winner
        if winner is not None:
            self.emit(Won(winner))

    def emit(self, event: Event) -> None:
        """Queue ``event`` for the end of the step."""
        if isinstance(event, Finished):
            state = CandidateState.TRUNCATED if event.reason == "length" else CandidateState.ENDED
            self._ended[event.choice] = CandidateState.FAILED if event.reason == "cancelled" else state
        elif isinstance(event, Failed):
            self._ended[event.choice] = CandidateState.FAILED
        if event.choice in self._ended:
            self._places.setdefault(event.choice, self._judged)
        for copy in range(self.copies):
            self._events.append(event if self.copies == 1 else replace(event, choice=copy))

    def flush(self) -> bool:
        """Deliver what was queued. False where whoever listens there has failed: nobody will hear the rest."""
        if self._events:
            events, self._events = self._events, []
            try:
                self._sink(events)
            except Exception:
                log.exception("a request's sink failed, %d events are lost", len(events))
                return False
        return True

    def candidates(self) -> Group:
        """The state of all choices, for the ``select_winner`` hook."""
        return Group(
            self.request,
            tuple(
                Candidate(
                    choice=s.choice,
                    state=self._ended.get(s.choice, CandidateState.RUNNING),
                    text=s.output.text,
                    tokens=s.generated,
                    logprob=s.logprob_sum,
                    place=self._places.get(s.choice),
                )
                for s in self.sequences
            ),
        )
