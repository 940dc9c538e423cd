"""What becomes of each choice of a request, and showing it while it grows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reame_core.cli.terminal import note, write
from reame_core.engine.events import Failed, Finished, TextDelta, Won
from reame_core.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reame_core.engine.events import Event, TokenLogprob


@dataclass(slots=True)
class Choice:
    """One answer, complete or growing."""

    index: int
    parts: list[str] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finished: Finished | None = None
    error: Exception | None = None
    won: bool = False
    """Whether it was chosen among all."""
    written: int = 0
    """How many of ``parts`` are on stdout."""

    @property
    def text(self) -> str:
        return "".join(self.parts)

    @property
    def ended(self) -> bool:
        return self.finished is not None or self.error is not None

    def take(self, event: Event) -> None:
        match event:
            case TextDelta():
                self.parts.append(event.text)
                self.logprobs += event.logprobs
            case Finished():
                self.finished = event
            case Failed():
                self.error = event.error
            case Won():
                self.won = True

    def write_new(self) -> None:
        fresh = "".join(self.parts[self.written :])
        self.written = len(self.parts)
        write(fresh)


def collect(events: Iterable[Event], count: int) -> list[Choice]:
    """All choices, silently."""
    choices = [Choice(index) for index in range(count)]
    for event in events:
        choices[event.choice].take(event)
    return _complete(choices)


def winner(choices: list[Choice]) -> Choice:
    """The one that was chosen; where nobody has chosen, the first that has ended by itself, or the first."""
    ended = [choice for choice in choices if choice.finished is not None and choice.finished.reason == "stop"]
    return next((choice for choice in choices if choice.won), (ended or choices)[0])


def show(events: Iterable[Event], count: int, *, headings: bool) -> list[Choice]:
    """All choices, written to stdout in their order: the first unfinished one as it grows, the later ones
    when it is their turn. Each ends with a line break; an empty line parts them. ``headings`` numbers them
    on stderr."""
    choices = [Choice(index) for index in range(count)]
    turn = _Turn(choices, headings=headings and count > 1)
    try:
        for event in events:
            choices[event.choice].take(event)
            turn.advance()
    except BaseException:
        turn.break_line()
        raise
    turn.break_line()
    return _complete(choices)


class _Turn:
    """Whose text is being written."""

    def __init__(self, choices: list[Choice], *, headings: bool) -> None:
        self._choices = choices
        self._headings = headings
        self._current = 0
        self._begun = False

    def advance(self) -> None:
        while self._current < len(self._choices):
            choice = self._choices[self._current]
            self._begin(choice)
            choice.write_new()
            if not choice.ended:
                return
            self._end(choice)

    def break_line(self) -> None:
        """End the line of a text that is not finished."""
        if self._begun and self._choices[self._current].text:
            write("\n")

    def _begin(self, choice: Choice) -> None:
        if self._begun:
            return
        self._begun = True
        if choice.index:
            write("\n")
        if self._headings:
            note(f"--- choice {choice.index + 1} ---")

    def _end(self, choice: Choice) -> None:
        if choice.text or not choice.error:
            write("\n")
        self._current += 1
        self._begun = False


def _complete(choices: list[Choice]) -> list[Choice]:
    for choice in choices:
        if not choice.ended:
            choice.error = EngineError("the engine stopped before the answer was complete")
    return choices
