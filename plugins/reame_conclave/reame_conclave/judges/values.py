"""What a short text that is meant to be an answer says: a number, a letter, or itself."""

from __future__ import annotations

import re

from reame_conclave.judges.answer import Answer
from reame_conclave.judges.markup import bare, plain
from reame_conclave.judges.numbers import as_answer, whole_number

SHOWN = 200
"""Characters of a text that are shown for an answer."""
_LETTER = re.compile(r"^\W*([A-Ja-j])\W*$")
_LETTERED = re.compile(r"^\W*(?:[Oo]ption\s+|[Cc]hoice\s+)?\(?([A-J])[).:](?=\s|$)")


def value_of(text: str) -> Answer | None:
    """``text`` as an answer; None where it is empty."""
    letter = choice_of(text)
    if letter is not None:
        return letter
    number = whole_number(text)
    return as_answer(number) if number is not None else same_text(plain(text))


def choice_of(text: str) -> Answer | None:
    """The letter of a choice, where ``text`` begins with it or is nothing else: "B", "(b)", "B) 42"."""
    match = _LETTER.match(plain(text)) or _LETTERED.match(plain(text))
    return None if match is None else Answer("choice", match[1].upper(), match[1].upper())


def same_text(text: str) -> Answer | None:
    """``text`` itself, but for case, spaces and what stands around it."""
    key = bare(text)
    if not key:
        return None
    line = " ".join(text.split())
    return Answer("text", key, line if len(line) <= SHOWN else line[: SHOWN - 1] + "…")
