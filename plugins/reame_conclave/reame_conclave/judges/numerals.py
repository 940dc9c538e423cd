"""Numbers in digits: signs, separators of thousands and decimals in any locale, fractions, percent, powers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

MOST_DIGITS = 60
"""Of one number. More, and larger powers of ten, are no answer that could be compared."""
_MAGNITUDES = {"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_MAGNITUDES |= {"trillion": 10**12}

_NUMERAL = re.compile(
    r"""
    (?<![\w^/\\])(?<!\d[.,:-])
    (?P<sign>[+-]?)
    (?>
        (?:(?P<mixed>\d{1,15})[ ])? (?P<top>\d{1,30}) [ ]?/[ ]? (?P<bottom>\d{1,30}) (?![\d/])
      | (?P<plain> \d{1,3}(?:(?:[ ]\d{3})+|(?:'\d{3})+|(?:_\d{3})+)(?![\d])(?:[.,]\d+)?
                 | \d+(?:[.,]\d+)*
                 | [.,]\d+ )
        (?: [eE](?P<power>[+-]?\d{1,3})(?!\w) | [ ]?[×x*][ ]?10[ ]?\^[ ]?[{]?(?P<ten>[+-]?\d{1,3})[}]? )?
    )
    (?![/:]\d|-\d|[eE][+-]?\d)
    (?: [ ]?(?P<percent>%|(?:percent|per[ ]cent|pct)\b)
      | [ ](?P<magnitude>dozen|hundred|thousand|million|billion|trillion)\b )?
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number at [start, end) of a text."""

    start: int
    end: int
    value: Fraction


def numerals(text: str) -> Iterator[Numeral]:
    """All numbers of a text that ``markup.plain`` has given. Times, dates and versions are none, and neither
    are digits inside words."""
    for match in _NUMERAL.finditer(text):
        value = _value(match)
        if value is not None:
            yield Numeral(match.start(), match.end(), value)


def _value(match: re.Match[str]) -> Fraction | None:
    groups = match.groupdict()
    if groups["top"] is not None:
        bottom = int(groups["bottom"])
        value = None if bottom == 0 else int(groups["mixed"] or 0) + Fraction(int(groups["top"]), bottom)
    else:
        value = decimal(groups["plain"])
    if value is None:
        return None
    power = int(groups["power"] or groups["ten"] or 0)
    if abs(power) > MOST_DIGITS:
        return None
    value *= Fraction(10) ** power
    if groups["percent"]:
        value /= 100
    if groups["magnitude"]:
        value *= _MAGNITUDES[groups["magnitude"].lower()]
    return -value if groups["sign"] == "-" else value


def decimal(digits: str) -> Fraction | None:
    """``1,234.5``, ``1.234,5``, ``1 234,5``, ``1'234.5``, ``12,5``, ``0,125``, ``.5``. A lone comma before
    exactly three digits parts thousands, a lone full stop never does. None for what is no number, as 3.11.2."""
    digits = re.sub(r"[ '_]", "", digits)
    if len(digits) > MOST_DIGITS:
        return None
    commas, stops = digits.count(","), digits.count(".")
    if commas and stops:
        mark = max(".,", key=digits.rfind)
        other = "," if mark == "." else "."
        whole, _, part = digits.rpartition(mark)
        if mark in whole or not _grouped(whole, other):
            return None
        return _exact(whole.replace(other, ""), part)
    if commas + stops > 1:
        mark = "," if commas else "."
        return _exact(digits.replace(mark, ""), "") if _grouped(digits, mark) else None
    if commas and _grouped(digits, ",") and not digits.startswith("0"):
        return _exact(digits.replace(",", ""), "")
    whole, _, part = digits.replace(",", ".").partition(".")
    return _exact(whole, part)


def _grouped(digits: str, mark: str) -> bool:
    """Whether ``mark`` parts thousands, or lakhs and crores."""
    first, *groups = digits.split(mark)
    western = all(len(group) == 3 for group in groups) and 1 <= len(first) <= 3
    indian = (
        len(groups) > 1
        and len(groups[-1]) == 3
        and all(len(group) == 2 for group in groups[:-1])
        and 1 <= len(first) <= 2
    )
    return bool(groups) and (western or indian)


def _exact(whole: str, part: str) -> Fraction:
    return Fraction(int(whole + part or "0"), 10 ** len(part))


def shown(value: Fraction) -> str:
    """``value`` as people write it: 1234.5, or 1/3 where the decimals do not end."""
    bottom = value.denominator
    for prime in (2, 5):
        while bottom % prime == 0:
            bottom //= prime
    if bottom != 1:
        return f"{value.numerator}/{value.denominator}"
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    scaled = abs(value.numerator * 10**places // value.denominator)
    text = str(scaled).rjust(places + 1, "0")
    text = f"{text[:-places]}.{text[-places:]}" if places else text
    return f"-{text}" if value < 0 else text
