"""Where in a JSON text its last character stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from reame_suggeritore.proposals.json.memory import CLOSE, COLON, COMMA, ITEM, OPEN, Memory, Path
from reame_suggeritore.proposals.page import Line

_BLANKS = " \t\r\n"
_LITERAL = frozenset("+-.0123456789eEtrufalsn")
_LITERAL_STARTS = frozenset("-0123456789tfn")


class NotJson(Exception):
    """The text is something else."""


class Place(Enum):
    """What the next character belongs to."""

    KEY = "key"
    """Blanks, a key, or the end of an empty object."""
    COLON = "colon"
    VALUE = "value"
    """Blanks, a value, or the end of an empty array."""
    IN_KEY = "in key"
    IN_STRING = "in string"
    IN_LITERAL = "in literal"
    BEHIND = "behind"
    """Behind a value: a comma, or the end of the container."""
    DONE = "done"


@dataclass(slots=True)
class Container:
    """One that is open. ``key`` is the last key of an object, ``count`` the items of an array."""

    bracket: str
    path: Path
    key: str | None = None
    count: int = 0

    @property
    def value_path(self) -> Path:
        return (*self.path, ITEM if self.bracket == "[" else self.key or "")


class Scanner:
    """Reads one JSON value, and tells ``memory`` what it is like."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.place = Place.VALUE
        self.stack: list[Container] = []
        self.scalar = Line()
        """The string or literal that has begun, without a quote."""
        self.blanks = ""
        """Since the last seam."""
        self.seam = OPEN
        self.proven = False
        """Whether this is hardly anything but JSON."""
        self._escaped = False

    @property
    def path(self) -> Path:
        """Of the value that is to come, or has begun."""
        return self.stack[-1].value_path if self.stack else ()

    def read(self, text: str) -> str:
        """Go on by the text of one token. What follows the value is answered. Raises NotJson."""
        for number, character in enumerate(text):
            if self.place is Place.DONE:
                return text[number:]
            self._take(character)
        if self.place in (Place.IN_STRING, Place.IN_KEY, Place.IN_LITERAL) and self.scalar.text:
            self.scalar.ends.append(len(self.scalar.text))
        return ""

    def _take(self, character: str) -> None:
        if self.place in (Place.IN_KEY, Place.IN_STRING):
            self._in_string(character)
        elif self.place is Place.IN_LITERAL and character in _LITERAL:
            self.scalar.text += character
        elif character in _BLANKS:
            self._end_literal()
            self.blanks += character
        elif self.place is Place.KEY and character == '"':
            self._begin_key()
        elif self.place is Place.COLON and character == ":":
            self.place, self.seam, self.blanks = Place.VALUE, COLON, ""
        elif self.place is Place.VALUE and (character in '{["' or character in _LITERAL_STARTS):
            self._begin_value(character)
        else:
            self._end_literal()
            self._close_or_go_on(character)

    def _in_string(self, character: str) -> None:
        if self._escaped or character not in '\\"':
            self._escaped = False
            self.scalar.text += character
        elif character == "\\":
            self._escaped = True
            self.scalar.text += character
        elif self.place is Place.IN_KEY:
            holder = self.stack[-1]
            self.memory.shape(holder.path).next_key[holder.key] = self.scalar.text
            holder.key = self.scalar.text
            self.place = Place.COLON
        else:
            self._end_scalar()

    def _end_literal(self) -> None:
        if self.place is Place.IN_LITERAL:
            self._end_scalar()

    def _end_scalar(self) -> None:
        self.memory.saw_value(self.path, self.scalar)
        self._end_value()

    def _end_value(self) -> None:
        if self.stack:
            self.stack[-1].count += 1
            self.place, self.seam = Place.BEHIND, CLOSE
        else:
            self.place = Place.DONE
        self.blanks = ""

    def _begin_key(self) -> None:
        self._note_blanks()
        self.place, self.scalar, self.proven = Place.IN_KEY, Line(), True

    def _begin_value(self, character: str) -> None:
        if self.stack:
            self._note_blanks()
        self.memory.saw_start(self.path, character)
        if character in "{[":
            self.stack.append(Container(character, self.path))
            self.place = Place.KEY if character == "{" else Place.VALUE
            self.seam, self.blanks = OPEN, ""
        elif character == '"':
            self.place, self.scalar = Place.IN_STRING, Line()
        elif self.stack:
            self.place, self.scalar = Place.IN_LITERAL, Line(character)
        else:
            raise NotJson

    def _close_or_go_on(self, character: str) -> None:
        holder = self.stack[-1] if self.stack else None
        if holder is None:
            raise NotJson
        if character == "," and self.place is Place.BEHIND:
            self.place = Place.KEY if holder.bracket == "{" else Place.VALUE
            self.seam, self.blanks, self.proven = COMMA, "", True
            return
        empty = self.seam == OPEN and self.place in (Place.KEY, Place.VALUE)
        if character != ("}" if holder.bracket == "{" else "]") or not (self.place is Place.BEHIND or empty):
            raise NotJson
        if not empty:
            self._note_blanks()
        shape = self.memory.shape(holder.path)
        if holder.bracket == "{":
            shape.next_key[holder.key] = None
        else:
            shape.counts.append(holder.count)
        self.stack.pop()
        self._end_value()

    def _note_blanks(self) -> None:
        holder = self.stack[-1]
        self.memory.saw_blanks(self.seam, holder.path, len(self.stack), self.blanks)
