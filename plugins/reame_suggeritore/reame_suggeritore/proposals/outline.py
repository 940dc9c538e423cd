"""The lines of a text with what each of them is, and what a form of line has to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from reame_suggeritore.proposals.page import Line
from reame_suggeritore.proposals.pattern import Content, Step, go_on
from reame_suggeritore.proposals.sequence import BLANK, Kind

_SIBLINGS = 6


class Reading(NamedTuple):
    """What a line is, and how many of its characters say so."""

    kind: Kind
    head: int


class Opening(NamedTuple):
    """How a line begins, and whether that is all of it."""

    text: str
    whole: bool = False


@dataclass(slots=True)
class Outline:
    """Three parallel lists. The first ``start`` lines are the prompt's."""

    lines: list[Line] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    start: int = 0

    def add(self, line: Line, reading: Reading) -> None:
        """One line more."""
        self.lines.append(line)
        self.kinds.append(reading.kind)
        self.heads.append(reading.head)

    def tail(self, most: int) -> Outline:
        """A copy of the last ``most`` lines."""
        start = max(0, self.start - max(0, len(self.lines) - most))
        return Outline(self.lines[-most:], self.kinds[-most:], self.heads[-most:], start)

    def latest(self, kind: Kind, most: int = _SIBLINGS) -> list[int]:
        """The numbers of the answer's last lines of this kind, in their order."""
        return self._latest(kind, most, self.start, len(self.kinds))

    def shown(self, kind: Kind, most: int = _SIBLINGS) -> list[int]:
        """As ``latest``; those of the prompt where the answer has none."""
        return self.latest(kind, most) or self._latest(kind, most, 0, self.start)

    def _latest(self, kind: Kind, most: int, start: int, end: int) -> list[int]:
        found: list[int] = []
        for number in range(end - 1, start - 1, -1):
            if self.kinds[number] == kind:
                found.append(number)
                if len(found) == most:
                    break
        return found[::-1]

    def siblings(self, kind: Kind) -> list[Content]:
        """What stands in the last lines of this kind."""
        return [Content(self.lines[i], self.heads[i]) for i in self.shown(kind)]

    @property
    def open_fence(self) -> str:
        """The line that closes the block of code that is open in the answer; empty where none is."""
        fences = [kind for kind in self.kinds[self.start :] if kind[0] == "fences"]
        opened = str(fences[-1][1]).strip() if len(fences) % 2 else ""
        return opened[: len(opened) - len(opened.lstrip("`~"))]

    @property
    def last_form(self) -> Kind:
        """Of the last line that is not blank, where at most one blank line follows it."""
        for kind in self.kinds[:-3:-1]:
            if kind != BLANK:
                return kind
        return BLANK


class Form(Protocol):
    """One form that lines have. ``name`` is the first item of its kinds."""

    name: str

    def read(self, text: str) -> Reading | None:
        """What a line is, or one that has only begun; None where it has another form."""
        ...

    def opening(self, kind: Kind, outline: Outline) -> Opening | None:
        """How a line of this kind begins behind those of ``outline``."""
        ...

    def successor(self, outline: Outline) -> tuple[Kind, float] | None:
        """The kind of the next line, and how sure that is, where the kinds so far do not tell."""
        ...

    def go_on(self, line: Line, reading: Reading, outline: Outline) -> Step | None:
        """How ``line``, which has begun, goes on."""
        ...


class PatternForm:
    """What most forms have in common."""

    name = ""

    def opening(self, kind: Kind, outline: Outline) -> Opening | None:
        """As the last line of this kind."""
        latest = outline.shown(kind, 1)
        return Opening(outline.lines[latest[0]].text[: outline.heads[latest[0]]]) if latest else None

    def successor(self, outline: Outline) -> tuple[Kind, float] | None:
        """Nobody knows."""
        return None

    def go_on(self, line: Line, reading: Reading, outline: Outline) -> Step | None:
        """As the others of its kind."""
        return go_on(Content(line, reading.head), outline.siblings(reading.kind))


def indent_of(text: str) -> str:
    """The blanks a line begins with."""
    return text[: len(text) - len(text.lstrip(" \t"))]
