"""What an embedding does not see: numbers, negations, names, and which way round.

"Is it safe to…" and "Is it not safe to…" have almost the same vector, and so have "miles to kilometres" and
"kilometres to miles". So two questions are taken for the same only where these details are equal as well. Words
are English ones; digits, names and exchanged words are noticed in any language that puts blanks between words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from reame_arca.similar.words import DIRECTIONS, EMPTY, NEGATIONS, NUMBERS, OPPOSITES

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER = re.compile(r"\d[\d.,:/-]*\d|\d")
_GROUPING = re.compile(r"(?<=\d)[,’'](?=\d{3}(?!\d))")
_MARKED = re.compile(
    r"\w*(?:[A-Z_]\w*[A-Z_]|[^\W\d_]\d|\d[^\W\d_])\w*"  # acronyms and identifiers
    r"|[\w.-]+[@/\\.]\w[\w./\\@-]*"  # paths and addresses
    r"|`[^`]+`|\"[^\"]+\""  # what is quoted
)
_OTHERS = EMPTY | DIRECTIONS | NEGATIONS | NUMBERS.keys()
_ENDINGS = ("ing", "es", "ed", "s", "e")


@dataclass(frozen=True, slots=True)
class Details:
    """Of one text."""

    folded: str
    numbers: tuple[str, ...]
    """In their order."""
    negations: int
    names: frozenset[str]
    """What is written as names are: in capitals, with digits or signs, between quotes."""
    sides: tuple[tuple[bool, bool], ...]
    """Of each pair of opposites, which of the two sides occur."""
    order: tuple[str, ...]
    """The words that carry meaning, each once, in the order in which they come."""
    directed: bool
    """Whether a word says that the order of others matters."""


def difference(one: str, other: str) -> str | None:
    """Why these two are not taken for the same; None where nothing speaks against it."""
    first, second = details_of(one), details_of(other)
    if first.numbers != second.numbers:
        return "number"
    if first.negations != second.negations:
        return "negation"
    if not (_occur(first.names, second) and _occur(second.names, first)):
        return "name"
    if any(a != b and any(a) and any(b) for a, b in zip(first.sides, second.sides, strict=True)):
        return "opposite"
    if _turned(first, second):
        return "order"
    if _one_exchanged(first, second):
        return "word"
    return None


@lru_cache(4096)
def details_of(text: str) -> Details:
    text = text.replace("’", "'")
    words = [word.lower() for word in _WORD.findall(text)]
    known = set(words)
    return Details(
        text.casefold(),
        tuple(_numbers(text)),
        sum(word in NEGATIONS or word.endswith("n't") for word in words),
        frozenset(_names(text)),
        tuple((not known.isdisjoint(one), not known.isdisjoint(other)) for one, other in OPPOSITES),
        tuple(dict.fromkeys(_stem(word) for word in words if not _told_apart(word))),
        not known.isdisjoint(DIRECTIONS),
    )


def _told_apart(word: str) -> bool:
    """Whether it means nothing by itself, or is looked at elsewhere."""
    return word in _OTHERS or word.endswith("n't") or word.isdigit()


def _numbers(text: str) -> list[str]:
    """Digits as they are written, words that mean numbers as digits."""
    plain = _GROUPING.sub("", text)
    digits = [(match.start(), match[0]) for match in _NUMBER.finditer(plain)]
    words = [(match.start(), NUMBERS.get(match[0].lower(), "")) for match in _WORD.finditer(plain)]
    return [value for _, value in sorted(digits + words) if value]


def _names(text: str) -> set[str]:
    marked = {match[0].strip('`"').rstrip(".,").casefold() for match in _MARKED.finditer(text)}
    capital = {
        match[0].casefold().removesuffix("'s")
        for match in _WORD.finditer(text)
        if match[0][0].isupper() and not _begins(text, match.start())
    }
    return {name for name in marked | capital if name and name.partition("'")[0] not in EMPTY}


def _begins(text: str, start: int) -> bool:
    """Whether a sentence begins there, so that a capital tells nothing."""
    before = text[:start].rstrip(" \t\"'(“‘*-")
    return not before or before[-1] in ".!?:;\n"


def _occur(names: frozenset[str], there: Details) -> bool:
    """However they are written there."""
    return all(name in there.folded for name in names)


def _turned(first: Details, second: Details) -> bool:
    """Whether shared words come in another order, and order matters: where a word says so, or where the words
    are all the same."""
    here = [word for word in first.order if word in second.order]
    there = [word for word in second.order if word in first.order]
    same_words = len(here) == len(first.order) == len(second.order)
    return here != there and (same_words or (first.directed and second.directed))


def _one_exchanged(first: Details, second: Details) -> bool:
    """Whether all words are the same but one of each: more often that is another thing than a synonym."""
    ours, theirs = set(first.order), set(second.order)
    return len(ours - theirs) == len(theirs - ours) == 1 and not ours.isdisjoint(theirs)


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    for ending in _ENDINGS:
        if len(word) > len(ending) + 2 and word.endswith(ending):
            return word.removesuffix(ending)
    return word
