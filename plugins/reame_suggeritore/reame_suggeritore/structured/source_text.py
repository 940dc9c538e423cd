"""What a prompt lets expect of a value: schemas are mostly filled with what was read."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST = 80
"""Characters of one value."""
_TEXT_END = re.compile(r'[\n\r\t"|;<>\\]|[,.:] |  | \(|$')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_NEAR = 24
"""Characters between the name of a number and the number."""


class SourceText:
    """A prompt. Values tend to come in its order: of several places that fit, the one behind the latest value
    that was found counts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._cursor = 0

    def found(self, value: str) -> None:
        """``value`` is complete."""
        place = next(self._places(value), None) if len(value) > 1 else None
        if place is not None:
            self._cursor = place + len(value)

    def rest_of_text(self, begun: str) -> str | None:
        """How a string goes on that has ``begun`` like this, to its end."""
        for place in self._places(begun):
            start = place + len(begun)
            end = _TEXT_END.search(self._text, start)
            assert end is not None
            if start < end.start() <= start + _LONGEST:
                return self._text[start : end.start()].rstrip()
        return None

    def rest_of_number(self, begun: str) -> str | None:
        """How a number goes on that has ``begun`` like this; empty where it is complete."""
        for place in self._places(begun):
            number = _NUMBER.match(self._text, place)
            if number is not None and number[0].startswith(begun):
                return number[0][len(begun) :]
        return None

    def text_called(self, name: str) -> str | None:
        """The string that stands behind its name, as in ``Name: value``."""
        for match in self._named(name, r"[ \t]*[:=|][ \t*|]*"):
            end = _TEXT_END.search(self._text, match.end())
            if end is not None and match.end() < end.start() <= match.end() + _LONGEST:
                return self._text[match.end() : end.start()].rstrip()
        return None

    def number_called(self, name: str) -> str | None:
        """The number that stands behind its name, as in ``Total due: 12.50 EUR``."""
        for match in self._named(name, rf"[^\d\n]{{0,{_NEAR}}}(?=\d)"):
            number = _NUMBER.match(self._text, match.end())
            if number is not None:
                return number[0]
        return None

    def _places(self, begun: str) -> Iterator[int]:
        """Where ``begun`` begins a word, those behind the cursor first."""
        for start, end in ((self._cursor, len(self._text)), (0, self._cursor)):
            place = self._text.find(begun, start, end)
            while place >= 0:
                if place == 0 or not (self._text[place - 1].isalnum() and begun[0].isalnum()):
                    yield place
                place = self._text.find(begun, place + 1, end)

    def _named(self, name: str, behind: str) -> Iterator[re.Match[str]]:
        """The places behind ``name``, however it is written, the last one first: documents come after what is
        asked about them."""
        words = re.findall(r"[^\W_]+", name)
        if not words:
            return
        pattern = r"[\W_]?".join(map(re.escape, words))
        yield from reversed(list(re.finditer(rf"(?<![^\W_]){pattern}{behind}", self._text, re.IGNORECASE)))
