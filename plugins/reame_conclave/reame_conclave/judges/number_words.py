"""Numbers in words: whole ones in seven languages by text2num, and in English signs, halves and points too."""

from __future__ import annotations

import re
from fractions import Fraction

from text_to_num import text2num

LONGEST = 12
"""Words of a number; more are prose."""
_OTHER_LANGUAGES = ("de", "es", "fr", "it", "pt", "nl")
_ENGLISH = frozenset({"second", "once", "elf", "cent", "mil"})
"""English words that are numbers elsewhere."""
_PARTS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4}
_PARTS |= {"fourths": 4, "fifth": 5, "fifths": 5, "sixth": 6, "eighth": 8, "eighths": 8, "tenth": 10}
_PARTS |= {"tenths": 10, "percent": 100, "hundredths": 100}
_JOINTS = frozenset({"and", "und", "et", "y", "e", "en"})
_WORD = re.compile(r"\b[^\W\d_]+(?:-[^\W\d_]+)*\b")


def words(text: str) -> list[str]:
    """The words of ``text``, in small letters."""
    return _WORD.findall(text.lower())


def number_in_words(text: str) -> Fraction | None:
    """``text`` as a whole: "minus twenty-one", "three point five", "two and a half", "zweiundvierzig"."""
    said = words(text)
    if not said or len(said) > LONGEST or any(char.isdigit() for char in text):
        return None
    value = english(said)
    if value is not None:
        return value
    if text.strip(" .").lower() in _ENGLISH:
        return None
    return next((found for each in _OTHER_LANGUAGES if (found := _whole(said, each)) is not None), None)


def english(said: list[str]) -> Fraction | None:
    """A number from English words, all of them part of it."""
    if said[0] in ("minus", "negative") and len(said) > 1:
        value = english(said[1:])
        return None if value is None else -value
    if said[-1] == "dozen":
        count = Fraction(1) if said[:-1] in ([], ["a"], ["one"]) else english(said[:-1]) if said[:-1] else None
        return None if count is None else 12 * count
    if said[-1] in _PARTS:
        return _with_part(said[:-1], _PARTS[said[-1]])
    if "point" in said:
        return _with_point(said, said.index("point"))
    return _whole(["one", *said[1:]] if said[0] in ("a", "an") and len(said) > 1 else said, "en")


def _with_part(said: list[str], part: int) -> Fraction | None:
    """``said`` before "half": nothing, "a", "three", "two and a"."""
    if said in ([], ["a"], ["one"]):
        return Fraction(1, part) if part != 100 or said else None
    if "and" in said[1:]:
        at = len(said) - 1 - said[::-1].index("and")
        whole, rest = english(said[:at]), said[at + 1 :]
        if whole is not None and part != 100 and rest in (["a"], ["one"], ["an"]):
            return whole + Fraction(1, part)
    count = english(said)
    return None if count is None else count / part


def _with_point(said: list[str], at: int) -> Fraction | None:
    whole = _whole(said[:at], "en") if at else Fraction(0)
    digits = [_whole([word], "en") for word in said[at + 1 :]]
    if whole is None or not digits:
        return None
    value = whole
    for place, digit in enumerate(digits, start=1):
        if digit is None or digit > 9:
            return None
        value += digit / 10**place
    return value


def _whole(said: list[str], language: str) -> Fraction | None:
    # text2num skips a leading "and", and takes the letter o for a zero.
    if not said or said[0] in _JOINTS or "o" in said:
        return None
    try:
        return Fraction(text2num(" ".join(said), language))
    except ValueError:
        return None
