"""Fields: what varies from line to line, and how to tell that it is complete."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

_WORD = r"[^\W\d_]+(?:['’\-_ ]?[^\W_]+)*"
_NUMBER = r"\d+(?:\.\d+)*(?:[^\W\d_]+)?"
_FIELD = re.compile(rf"{_WORD}|{_NUMBER}")
_DIGIT = re.compile(r"\d")
_ONLY_NUMBER = re.compile(r"[d.,]*d[d.,]*")
_COUNTING = re.compile(r"(\D*)(\d+)")
_LETTERS = re.compile(r"[^\W\d_]+(?:[ '’\-]+[^\W\d_]+)*")
_COUNTED = 3
"""Numbers that show that something counts."""
_KNOWN_SHAPE, _NEW_SHAPE = 1.0, 0.15
_KNOWN_END = 0.85
_COMMON_END = 3
"""Characters that earlier fields have in common at their ends before that tells anything."""


@dataclass(frozen=True, slots=True)
class Field:
    """What stood in one place of an earlier line."""

    text: str
    tokens: int

    @property
    def shape(self) -> str:
        """Words look alike, numbers by their digits: ``a@a.a``, ``dd.d``."""
        return shape_of(self.text)


def shape_of(text: str) -> str:
    """See ``Field.shape``."""
    return _DIGIT.sub("d", _LETTERS.sub("a", text))


def divide(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """``text`` as separators around fields: (separators, places of the fields), one separator more than
    fields, of which the first and the last may be empty."""
    separators, places = [], []
    at = 0
    for match in _FIELD.finditer(text):
        separators.append(text[at : match.start()])
        places.append(match.span())
        at = match.end()
    separators.append(text[at:])
    return separators, places


def chance_of_end(now: Field, earlier: Sequence[Field]) -> float:
    """How likely the field ``now`` is complete, by those of its like before it."""
    if not earlier or not now.text:
        return 0.0
    texts = [field.text for field in earlier]
    if now.text in texts:
        return (texts.count(now.text) + 1) / (len(texts) + 2)
    reached = [field for field in earlier if field.tokens >= now.tokens]
    ended = sum(field.tokens == now.tokens for field in reached)
    chance = (ended + 0.4) / (len(reached) + 1)
    shape = now.shape
    known = shape in {field.shape for field in earlier}
    if (
        known
        and "d" in shape
        and not re.search("[^d.,]", shape)
        and len({field.shape for field in earlier}) == 1
    ):
        return len(earlier) / (len(earlier) + 0.5)
    common = common_ending(texts)
    if len(common) >= _COMMON_END and len(earlier) > 1:
        return _KNOWN_END if now.text.endswith(common) else _NEW_SHAPE * chance
    return chance * (_KNOWN_SHAPE if known else _NEW_SHAPE)


def literal_ahead(now: Field, earlier: Sequence[Field]) -> str:
    """The point or the like that comes behind the digits of ``now``, if numbers had the same shape before."""
    shapes = {field.shape for field in earlier}
    mine = now.shape
    if len(earlier) < 2 or len(shapes) > 1 or not mine.endswith("d"):
        return ""
    shape = shapes.pop()
    if not shape.startswith(mine):
        return ""
    return "".join(takewhile(lambda character: character not in "ad", shape[len(mine) :]))


def common_ending(texts: Sequence[str]) -> str:
    """The longest text that all of ``texts`` end with."""
    return common_beginning([text[::-1] for text in texts])[::-1]


def common_beginning(texts: Sequence[str]) -> str:
    """The longest text that all of ``texts`` begin with."""
    first, last = min(texts, default=""), max(texts, default="")
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first[: min(len(first), len(last)) if length is None else length]


def expected_value(texts: Sequence[str]) -> str | None:
    """What a field will say whose earlier values, the latest last, were ``texts``: the same again, or one of
    numbers that count. None where that is not to be seen."""
    if not texts:
        return None
    if len(texts) > 1 and len(set(texts)) == 1:
        return texts[-1]
    numbers = list(takewhile(bool, (_COUNTING.fullmatch(text) for text in texts[: -_COUNTED - 1 : -1])))[::-1]
    heads = {match[1] for match in numbers if match}
    values = [int(match[2]) for match in numbers if match]
    if len(heads) != 1:
        return None
    steps = {b - a for a, b in pairwise(values)} or ({1} if values[0] == 1 else set())
    if len(steps) != 1 or (len(values) < _COUNTED and 1 not in steps):
        return None
    following = values[-1] + steps.pop()
    digits = texts[-1][len(heads.pop()) :]
    width = len(digits) if digits.startswith("0") else 0
    return texts[-1][: -len(digits)] + f"{following:0{width}d}" if following >= 0 else None
