"""Labels that count: 1, 01, 1.2, a, B, iv."""

from __future__ import annotations

import re

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_ROMAN_FORM = re.compile(r"m{0,3}(cm|cd|d?c{0,3})(xc|xl|l?x{0,3})(ix|iv|v?i{0,3})")

DECIMAL, LETTER, ROMAN = "1", "a", "i"


def style_of(label: str, before: str | None = None) -> str:
    """``DECIMAL``, ``LETTER`` or ``ROMAN``, in upper case for labels in upper case. ``before`` is the label
    before it, which tells the ninth letter from the first Roman number."""
    if label[-1].isdigit():
        return DECIMAL
    style = LETTER if len(label) == 1 else ROMAN
    small = label.lower()
    if len(label) == 1 and _is_roman(small) and (small == "i" or (before is not None and len(before) > 1)):
        is_next_letter = before is not None and len(before) == 1 and ord(before.lower()) + 1 == ord(small)
        style = LETTER if is_next_letter else ROMAN
    return style.upper() if label.isupper() else style


def following(label: str, style: str) -> str | None:
    """The label after ``label``; None behind the last letter."""
    if style == DECIMAL:
        head, number = re.fullmatch(r"(.*?)(\d+)", label).groups()  # type: ignore[union-attr]
        return f"{head}{int(number) + 1:0{len(number)}d}"
    small = label.lower()
    after = _letter_after(small) if style.lower() == LETTER else _roman(_value(small) + 1)
    return after.upper() if after is not None and style.isupper() else after


def _letter_after(letter: str) -> str | None:
    return None if letter == "z" else chr(ord(letter) + 1)


def _is_roman(text: str) -> bool:
    return bool(text) and _ROMAN_FORM.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Whether ``text`` counts: digits, one letter, or a Roman number of one case."""
    if text[:1].isdigit():
        return True
    one_case = text.islower() or text.isupper()
    return one_case and text.isascii() and (len(text) == 1 or _is_roman(text.lower()))


def _value(roman: str) -> int:
    values = {digits: value for value, digits in _ROMAN}
    total = at = 0
    while at < len(roman):
        width = 2 if roman[at : at + 2] in values and len(roman[at : at + 2]) == 2 else 1
        total += values[roman[at : at + width]]
        at += width
    return total


def _roman(number: int) -> str:
    text = ""
    for value, digits in _ROMAN:
        text += digits * (number // value)
        number %= value
    return text
