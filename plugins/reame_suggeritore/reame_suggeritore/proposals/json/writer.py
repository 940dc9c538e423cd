"""How a JSON text goes on, by what it has been like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from reame_suggeritore.proposals.json.memory import CLOSE, COLON, COMMA, OPEN, Path
from reame_suggeritore.proposals.json.scanner import Container, Place, Scanner
from reame_suggeritore.proposals.pattern import Content, Step, go_on
from reame_suggeritore.proposals.proposal import ANY_TEXT, DIGITS, KNOWN
from reame_suggeritore.proposals.values import expected_value

_SURE, _LIKELY, _PERHAPS = 0.97, 0.85, 0.5
_LEAST = 0.25
_LONGEST = 200
_STARTS = {'"': '"', "{": "{", "[": "["}
_BEHIND_START = {'"': ANY_TEXT, "{": ("}", "\n"), "[": ("]", "\n")}


@dataclass(slots=True)
class Coming:
    """``text`` comes next, ``done`` when the JSON text is complete behind it."""

    text: str = ""
    confidence: float = 1.0
    samples: tuple[str, ...] = ANY_TEXT
    done: bool = False


class Writer:
    """Goes on from where ``scanner`` is. ``enough`` tells whether so many items may be all of an array."""

    def __init__(self, scanner: Scanner, enough: Callable[[int], bool]) -> None:
        self._memory = scanner.memory
        self._stack = [replace(each) for each in scanner.stack]
        self._enough = enough
        self._coming = Coming()

    def go_on(self, scanner: Scanner) -> tuple[Coming, str] | None:
        """What comes next, and what that rests on."""
        place, written = scanner.place, scanner.blanks
        basis = KNOWN
        if place in (Place.IN_STRING, Place.IN_LITERAL):
            step = go_on(Content(scanner.scalar, 0), [Content(v, 0) for v in self._memory.values(scanner.path)])
            if step is None:
                return None
            basis, written = step.basis, ""
            self._finish(step, place)
        elif place is Place.IN_KEY:
            if not self._finish_key(scanner.scalar.text):
                return None
            written = ""
        elif place is Place.KEY:
            self._key(scanner.seam)
        elif place is Place.COLON:
            self._add(":")
            self._value(self._blanks(COLON))
        elif place is Place.VALUE and self._stack:
            self._value(self._blanks(scanner.seam))
        elif place is Place.BEHIND:
            self._behind()
        coming = self._coming
        if not coming.text.startswith(written):
            return None
        coming.text = coming.text[len(written) :]
        return (coming, basis) if coming.text or coming.done else None

    def _add(self, text: str, confidence: float = _SURE, samples: tuple[str, ...] = ANY_TEXT) -> bool:
        """Go on by ``text``, if it is sure enough; whether there is room for more."""
        coming = self._coming
        if coming.text and coming.confidence * confidence < _LEAST:
            return False
        coming.text += text
        coming.confidence *= confidence
        coming.samples = samples
        return len(coming.text) < _LONGEST

    def _blanks(self, seam: str) -> str | None:
        return self._memory.blanks(seam, self._stack[-1].path, len(self._stack))

    def _finish(self, step: Step, place: Place) -> None:
        quote = '"' if place is Place.IN_STRING else ""
        self._add(step.text, step.confidence, step.samples)
        if step.completes:
            self._add(quote)
            self._end_value()

    def _finish_key(self, begun: str) -> bool:
        holder = self._stack[-1]
        key = self._memory.shape(holder.path).next_key.get(holder.key)
        if key is None or not key.startswith(begun) or key == begun == "":
            return False
        holder.key = key
        self._add(f'{key[len(begun) :]}":', _SURE if begun else _LIKELY)
        self._value(self._blanks(COLON))
        return True

    def _key(self, seam: str) -> None:
        """From the seam before a key on."""
        blanks = self._blanks(seam)
        if blanks is None:
            return
        holder = self._stack[-1]
        key = self._memory.shape(holder.path).next_key.get(holder.key)
        if key is None:
            self._add(f'{blanks}"', _LIKELY)
            return
        holder.key = key
        if self._add(f'{blanks}"{key}":'):
            self._value(self._blanks(COLON))

    def _value(self, blanks: str | None) -> None:
        """From the seam before a value on."""
        if blanks is None:
            return
        path = self._stack[-1].value_path
        start = self._memory.start(path)
        values = [value.text for value in self._memory.values(path)]
        value = expected_value(values) if start not in ("{", "[") else None
        if start is None:
            self._add(f'{blanks}"', _PERHAPS)
        elif start in "{[":
            if self._add(blanks + start, samples=_BEHIND_START[start]):
                self._open(start, path)
        elif value is not None:
            quote = '"' if start == '"' else ""
            if self._add(f"{blanks}{quote}{value}{quote}", _LIKELY):
                self._end_value()
        else:
            self._add(blanks + _STARTS.get(start, ""), samples=ANY_TEXT if start == '"' else DIGITS)

    def _open(self, bracket: str, path: Path) -> None:
        self._stack.append(Container(bracket, path))
        if bracket == "{":
            self._key(OPEN)
        elif (blanks := self._blanks(OPEN)) is not None:
            self._value(blanks)

    def _end_value(self) -> None:
        """A value is complete."""
        if self._stack:
            self._stack[-1].count += 1
            self._behind()
        else:
            self._coming.done = True

    def _behind(self) -> None:
        """From the seam behind a value on."""
        holder = self._stack[-1]
        shape = self._memory.shape(holder.path)
        if holder.bracket == "{":
            if holder.key not in shape.next_key:
                return
            last = shape.next_key[holder.key] is None
            chance = _SURE
        else:
            last = self._enough(holder.count) or holder.count in shape.counts
            chance = _LIKELY
        blanks = self._blanks(CLOSE if last else COMMA)
        if blanks is None:
            return
        if not last:
            if self._add(",", chance):
                self._key(COMMA) if holder.bracket == "{" else self._value(blanks)
            return
        if self._add(blanks + ("}" if holder.bracket == "{" else "]"), chance, (",", "\n")):
            self._stack.pop()
            self._end_value()
