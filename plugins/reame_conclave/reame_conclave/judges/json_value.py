"""Answers that are JSON: compared by value, whatever the order of their keys and the form of their numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

from reame_conclave.judges.answer import Answer
from reame_conclave.judges.markup import READ
from reame_conclave.judges.numbers import as_answer
from reame_conclave.judges.values import SHOWN, value_of

ANSWER_FIELDS = ("final_answer", "answer")
"""Of an object that says more than its answer."""
_FENCED = re.compile(r"^```[a-zA-Z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TRIES = 64
_POWERS = 400
_ABSENT = object()


class _Number(Fraction):
    """A number as it is written in JSON, exactly."""


def _number(text: str) -> _Number:
    mantissa, _, power = text.lower().partition("e")
    if len(mantissa) > _POWERS or len(power) > 4 or abs(int(power or 0)) > _POWERS:
        raise ValueError("a number too large to compare")
    return _Number(Fraction(mantissa) * Fraction(10) ** int(power or 0))


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_float=_number, parse_int=_number, parse_constant=_no_constant)


def find_json(text: str) -> Any:
    """The value that ``text`` is, or that it holds in a code block or between its outermost braces. ``_ABSENT``
    without one."""
    text = text[-READ:]
    for part in (text.strip(), *(block.strip() for block in reversed(_FENCED.findall(text)))):
        value = _decoded(part)
        if value is not _ABSENT:
            return value
    starts = [match.start() for match in re.finditer(r"[{\[]", text)][:_TRIES]
    last = max(text.rfind("}"), text.rfind("]"))
    best: Any = _ABSENT
    for start in starts:
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        best = value
        if end > last:
            break
    return best


def _decoded(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return _ABSENT


def canonical(value: Any) -> Hashable:
    """Equal for equal values: true is not 1, 1 is 1.0, keys have no order and elements have."""
    if isinstance(value, dict):
        return "object", frozenset((key, canonical(each)) for key, each in value.items())
    if isinstance(value, list):
        return "array", tuple(canonical(each) for each in value)
    if isinstance(value, Fraction):
        return "number", Fraction(value)
    return type(value).__name__, value


class JsonValue:
    """Votes by the value of the JSON in a text. ``objects_only`` leaves bare numbers and texts to others."""

    name = "json"

    def __init__(self, *, objects_only: bool = False) -> None:
        self._objects_only = objects_only

    def read(self, text: str) -> Answer | None:
        value = find_json(text)
        if value is _ABSENT or (self._objects_only and not isinstance(value, (dict, list))):
            return None
        if isinstance(value, dict):
            named = next((value[name] for name in ANSWER_FIELDS if name in value), _ABSENT)
            value = value if named is _ABSENT else named
        return _as_answer(value)


class JsonField:
    """Votes by one field of the JSON in a text: ``answer``, or ``items.0.price`` in nested ones."""

    name = "field"

    def __init__(self, path: str) -> None:
        self._path = path.split(".")

    def read(self, text: str) -> Answer | None:
        value = find_json(text)
        for step in self._path:
            if isinstance(value, dict):
                value = value.get(step, _ABSENT)
            elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                return None
        return None if value is _ABSENT or value is None else _as_answer(value)


def _as_answer(value: Any) -> Answer | None:
    if isinstance(value, str):
        return value_of(value)
    if isinstance(value, _Number):
        return as_answer(Fraction(value))
    try:
        key = canonical(value)
    except RecursionError:
        return None
    shown = json.dumps(value, ensure_ascii=False, default=_plain_number)
    return Answer("json", key, shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…")


def _plain_number(value: object) -> int | float:
    assert isinstance(value, Fraction)
    return value.numerator if value.denominator == 1 else float(value)
