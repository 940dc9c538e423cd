"""Lines of one kind: where their separators stand, and what is the same in all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from reame_suggeritore.proposals.ends import chance_of_end, is_settled, literal_ahead
from reame_suggeritore.proposals.fields import Field, divide
from reame_suggeritore.proposals.page import Line
from reame_suggeritore.proposals.proposal import AGAIN, ANY_TEXT, DIGITS, ENDS, KNOWN
from reame_suggeritore.proposals.values import common_beginning, common_ending, expected_value, resumed

_UP_TO_WORD = re.compile(r".*\w", re.DOTALL)
_SEPARATOR_GOES_ON, _AGAIN = 0.95, 0.7
_LONGEST_FIXED = 60


class Content:
    """What stands in ``line`` behind its first ``head`` characters."""

    def __init__(self, line: Line, head: int, end: int | None = None) -> None:
        self.text = line.text[head:end].rstrip("\r")
        self._line = line
        self._head = head

    def without(self, ending: str) -> Content | None:
        """All before ``ending``; None where it does not stand at the end."""
        if not ending or not self.text.endswith(ending):
            return None
        return Content(self._line, self._head, self._head + len(self.text) - len(ending))

    @cached_property
    def _division(self) -> tuple[list[str], list[tuple[int, int]]]:
        return divide(self.text)

    @property
    def separators(self) -> list[str]:
        return self._division[0]

    @property
    def fields(self) -> int:
        return len(self._division[1])

    def field(self, number: int) -> Field:
        """One of the ``fields``."""
        return self._cut(*self._division[1][number])

    def rest(self, number: int) -> str:
        """From one of the ``fields`` on."""
        return self.text[self._division[1][number][0] :]

    def all_but(self, ending: str) -> Field:
        """The whole as one field, without ``ending``."""
        return self._cut(0, len(self.text) - len(ending))

    def _cut(self, start: int, end: int) -> Field:
        return Field.of(self._line, self._head + start, self._head + end)


@dataclass(frozen=True, slots=True)
class Step:
    """How a line goes on."""

    text: str
    confidence: float
    completes: bool
    """Whether the line ends behind ``text``."""
    basis: str
    """``KNOWN``, ``ENDS`` or ``AGAIN``."""
    samples: tuple[str, ...] = ANY_TEXT


def go_on(now: Content, siblings: Sequence[Content]) -> Step | None:
    """How ``now`` goes on if it is like its ``siblings``, the latest last."""
    separators = now.separators
    in_field = not separators[-1] and now.fields > 0
    known = len(separators) - 1
    partial = separators[-1]
    agreeing = [
        each
        for each in siblings
        if len(each.separators) > known
        and each.separators[:known] == separators[:known]
        and each.separators[known].startswith(partial)
    ]
    if not agreeing:
        return _whole(now, siblings) if in_field else None
    expected = Counter((each.separators[known], len(each.separators) == known + 1) for each in agreeing)
    (separator, last), votes = expected.most_common(1)[0]
    agreeing = [each for each in agreeing if each.separators[known] == separator]
    rest, chance, basis = "", _SEPARATOR_GOES_ON, KNOWN
    if in_field:
        begun, earlier = now.field(known - 1), [each.field(known - 1) for each in agreeing]
        coming = coming_in(begun, earlier)
        if coming is None:
            return None
        if not coming.completes:
            return coming
        rest, chance, basis = coming.text, coming.confidence, coming.basis
    confidence = chance * votes / expected.total()
    fixed, completes = "", last
    if not last:
        fixed, completes = _fixed_from(known, agreeing)
    samples = ANY_TEXT if completes else _beginnings(known, agreeing, fixed)
    return Step(rest + separator[len(partial) :] + fixed, confidence, completes, basis, samples)


def coming_in(begun: Field, earlier: Sequence[Field]) -> Step | None:
    """The rest of a field that has ``begun``, by those of its like; it ``completes`` the field or a part of
    it."""
    if literal := literal_ahead(begun, earlier):
        return Step(literal, _SEPARATOR_GOES_ON, False, KNOWN, DIGITS)
    expected = expected_value([field.text for field in earlier])
    if expected is not None and expected.startswith(begun.text):
        return Step(expected[len(begun.text) :], _SEPARATOR_GOES_ON, True, KNOWN)
    if again := resumed(begun.text, [field.text for field in earlier]):
        return Step(again[0], _AGAIN, again[1], AGAIN)
    chance = chance_of_end(begun, earlier)
    known = len(earlier) > 1 and is_settled(begun, earlier)
    return Step("", chance, True, KNOWN if known else ENDS) if chance else None


def _fixed_from(number: int, siblings: Sequence[Content]) -> tuple[str, bool]:
    """The text from field ``number`` on as far as it is to be expected, and whether the line ends there."""
    text = ""
    while len(text) < _LONGEST_FIXED and all(each.fields > number for each in siblings):
        value = expected_value([each.field(number).text for each in siblings])
        behind = {each.separators[number + 1] for each in siblings}
        last = {each.fields == number + 1 for each in siblings}
        if value is None or len(behind) > 1 or len(last) > 1:
            return text + _first_words([each.field(number).text for each in siblings]), False
        text += value + behind.pop()
        if last.pop():
            return text, True
        number += 1
    return text, False


def _first_words(texts: Sequence[str]) -> str:
    """The whole words that at least two ``texts``, which go on differently, begin with."""
    return common_beginning(texts).rpartition(" ")[0] if len(texts) > 1 else ""


def _beginnings(number: int, siblings: Sequence[Content], fixed: str) -> tuple[str, ...]:
    """How field ``number``, or what stands behind its first ``fixed`` characters, begins in ``siblings``."""
    found = set()
    for each in siblings:
        if each.fields > number:
            found.add(each.rest(number)[len(fixed) : len(fixed) + 1])
    return tuple(sorted(found - {""})[:3]) or ANY_TEXT


def _whole(now: Content, siblings: Sequence[Content]) -> Step | None:
    """Where lines have no more in common than their ends."""
    if not siblings:
        return None
    ending = _UP_TO_WORD.sub("", common_ending([each.text for each in siblings]))
    chance = chance_of_end(now.all_but(""), [each.all_but(ending) for each in siblings])
    return Step(ending, chance, True, ENDS)
