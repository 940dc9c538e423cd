"""The number that a text answers with: a final one, not one that is mentioned on the way."""

from __future__ import annotations

import re
from fractions import Fraction

from reame_conclave.judges.answer import Answer
from reame_conclave.judges.markup import plain
from reame_conclave.judges.number_words import LONGEST, english, number_in_words, words
from reame_conclave.judges.numerals import Numeral, numerals, shown

LINES = 3
"""Lines from the end in which a final number may be: behind it some models take leave."""
SHORT = 5
"""Words of a text that may be nothing but its answer."""
TAIL = 4
"""Words behind a final number: its unit, "in total", "left"."""
_ITEM = re.compile(r"^\s*(?:\d{1,3}[.)]|[-+•>#]+)\s+(?=\S)")
_ASIDE = re.compile(r"\s*\([^()]*\)[\s.!]*$")
_MORE = re.compile(r"^\s*(?:,|;|and\b|or\b|&|/|to\b|-)\s*(?:and\s|or\s)?\s*$")
_SAYS = frozenset({"is", "are", "was", "were", "equals", "equal", "makes", "exactly", "total", "be"})


def as_answer(value: Fraction) -> Answer:
    """A number as an answer: 5, 5.0 and five are the same one."""
    return Answer("number", value, shown(value))


def whole_number(text: str) -> Fraction | None:
    """``text`` where it says one number and little else: "12", "$1,000.00", "x = 5", "five apples", "20 %",
    "3 * 4 = 12", "5 (of 12)". None for several numbers, and for prose."""
    text = _without_aside(_ITEM.sub("", plain(text).strip()))
    found = list(numerals(text))
    if not found:
        return number_in_words(text) or _words_at_the_end(text, longest_tail=TAIL)
    if "=" in text or "≈" in text:
        found = [each for each in found if each.start > max(text.rfind("="), text.rfind("≈"))]
        return found[0].value if len(found) == 1 else None
    if len(found) == 1:
        return found[0].value
    first, second = found[0], found[1]
    if _MORE.match(text[first.end : second.start]):
        return None
    # "5 because 3 + 2 = 5" has come to the point at its beginning, "She has 12 and eats 7: 5" at its end.
    starts = not words(text[: first.start])
    return first.value if starts else _conclusive(text, found[-1])


def final_number(text: str) -> Fraction | None:
    """The number that ``text`` ends with: in one of its last lines, with hardly a word behind it."""
    for line in _last_lines(text):
        found = list(numerals(line))
        value = _conclusive(line, found[-1]) if found else _words_at_the_end(line, longest_tail=2)
        if value is not None:
            return value
    return None


def last_number(text: str) -> Fraction | None:
    """The last number of ``text``, wherever it is; numbers of list items are none."""
    for line in reversed(plain(text).splitlines()):
        found = list(numerals(_ITEM.sub("", line)))
        if found:
            return found[-1].value
    return None


def _last_lines(text: str) -> list[str]:
    lines = [line for line in reversed(plain(text).splitlines()) if line.strip()]
    return [_without_aside(_ITEM.sub("", line)) for line in lines[:LINES]]


def _without_aside(line: str) -> str:
    shorter = _ASIDE.sub("", line)
    return shorter if shorter.strip() else line


def _conclusive(line: str, number: Numeral) -> Fraction | None:
    return number.value if len(words(line[number.end :])) <= TAIL else None


def _words_at_the_end(line: str, longest_tail: int) -> Fraction | None:
    """A number in words with at most ``longest_tail`` words behind it. A lone "one" says nothing, unless it is
    said to be the answer."""
    said = words(line)
    for end in range(len(said), max(0, len(said) - longest_tail - 1), -1):
        for start in range(max(0, end - LONGEST), end):
            value = english(said[start:end])
            if value is None:
                continue
            vague = said[start:end] == ["one"] and len(said) > 1
            if not vague or (start > 0 and said[start - 1] in _SAYS and end == len(said)):
                return value
    return None


def _is_short(text: str) -> bool:
    return "\n" not in text.strip() and len(words(text)) <= SHORT


class FinalNumber:
    """Votes by the number that a text ends with."""

    name = "final number"

    def read(self, text: str) -> Answer | None:
        value = whole_number(text) if _is_short(text) else None
        value = value if value is not None else final_number(text)
        return None if value is None else as_answer(value)


class LastNumber:
    """Votes by the last number of a text, wherever it is."""

    name = "number"

    def read(self, text: str) -> Answer | None:
        value = FinalNumber().read(text)
        if value is not None:
            return value
        last = last_number(text)
        return None if last is None else as_answer(last)
