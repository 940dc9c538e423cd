"""What a field will say, by what its like said before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, takewhile

_COUNTING = re.compile(r"(\D*)(\d+)")
_COUNTED = 3
"""Numbers that show that something counts."""
_RECENT = 6
_MOSTLY = 0.6
_DIGITS = re.compile(r"\d*")
_WORD_BEGUN = re.compile(r"[^\W\d_][^\d]$")


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


def likely_value(texts: Sequence[str]) -> str | None:
    """The latest of the values, where most of the recent ones are equal to it."""
    recent = texts[-_RECENT:]
    most = len(recent) > 1 and recent.count(recent[-1]) >= _MOSTLY * len(recent)
    return recent[-1] if most else None


def likely_digits(texts: Sequence[str]) -> str:
    """The digits that most of the recent numbers begin with, as far as they are of one length."""
    recent = [str(_DIGITS.match(text)[0]) for text in texts[-_RECENT:]]  # type: ignore[index]
    if len(recent) < 2 or len(set(map(len, recent))) > 1:
        return ""
    begun = ""
    while len(begun) < len(recent[0]) - 1:
        digit, votes = Counter(text[len(begun)] for text in recent if text.startswith(begun)).most_common(1)[0]
        if votes < _MOSTLY * len(recent):
            break
        begun += digit
    return begun


def resumed(begun: str, texts: Sequence[str]) -> tuple[str, bool] | None:
    """How a field goes on that has ``begun`` like earlier ones, and whether it is complete then."""
    matching = {text for text in texts if text.startswith(begun) and text != begun}
    if not matching or begun in texts or not _WORD_BEGUN.search(begun):
        return None
    rest = common_beginning(sorted(matching))[len(begun) :]
    if len(matching) == 1:
        return rest, True
    words = rest.rpartition(" ")[0]
    return (words, False) if words else None
