"""Where the texts of control tokens occur, and how a text is marked so that they count no longer.

A guard is a private-use character that occurs nowhere else in a conversation. It is put into every text a
user provides: after the first character of each occurrence of a control token's text, and at the end where
the text ends with the beginning of one. What a template writes around or between the user's texts can then
no longer be confused with them, while texts without such occurrences stay exactly as they are, so that a
template's own ``trim``, ``split`` and comparisons work as they always do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

Span = tuple[int, int]

_GUARDS = range(0x10FFFD, 0x100000, -1)
_VISIBLE_BLANK = "▁"


class SpecialTexts:
    """The texts of a vocabulary's control tokens. Built once per model, used from any thread."""

    def __init__(self, tokens: Mapping[str, int]) -> None:
        self.ids = frozenset(tokens.values())
        self.texts = frozenset(text for text in tokens if text)
        self._exact = _Finder(self.texts)
        # SentencePiece writes blanks as U+2581, so there both spellings mean the same token
        self._loose = _Finder(_loosely(text) for text in self.texts)
        self._beginnings = {text[:n] for text in self.texts for n in range(1, len(text))}
        self._longest = max(map(len, self.texts), default=0)

    def touches(self, text: str) -> bool:
        """Whether ``guarded`` would change ``text``."""
        return self._ends_within_one(text) or bool(self._loose.spans(_loosely(text)))

    def guarded(self, text: str, guard: str) -> str:
        """``text`` with ``guard`` in every occurrence; the same object where there is none."""
        places = sorted({start + 1 for start, _ in self._loose.spans(_loosely(text))})
        if self._ends_within_one(text) and (not places or places[-1] != len(text)):
            places.append(len(text))
        if not places:
            return text
        pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
        return guard.join(pieces)

    def guarded_key(self, key: str, guard: str) -> str:
        """The same for a key of an object, where a plain identifier is structure rather than user text."""
        return key if key.isidentifier() else self.guarded(key, guard)

    def in_template(self, rendering: str, guard: str) -> list[Span]:
        """Where control tokens stand in a rendering of guarded texts, in order. Of overlapping ones the
        longest wins wherever it stands, as in llama.cpp."""
        spans = self._exact.spans(rendering)
        spans.sort(key=lambda span: (-len(rendering[slice(*span)].encode()), span))
        covered = bytearray(len(rendering))
        taken: list[Span] = []
        for start, end in spans:
            of_a_user = end - start == 1 and rendering.startswith(guard, end)
            if not of_a_user and 1 not in covered[start:end]:
                covered[start:end] = b"\1" * (end - start)
                taken.append((start, end))
        return sorted(taken)

    def _ends_within_one(self, text: str) -> bool:
        return any(text[-n:] in self._beginnings for n in range(1, min(self._longest, len(text) + 1)))


def choose_guard(texts: Iterable[str]) -> str:
    """A guard that occurs in none of ``texts``, neither itself nor in the form JSON escapes it to."""
    everything = "\n".join(texts)
    for code in _GUARDS:
        guard = chr(code)
        if guard not in everything and escaped(guard) not in everything:
            return guard
    raise AssertionError("a conversation with all 65,000 private-use characters")


def escaped(guard: str) -> str:
    """``guard`` as JSON writes it for readers of ASCII."""
    return json.dumps(guard)[1:-1]


def _loosely(text: str) -> str:
    return text.replace(_VISIBLE_BLANK, " ")


class _Finder:
    """Finds all occurrences of fixed texts, overlapping ones included. Thousands of texts with a common
    beginning, as vocabularies have them, cost no more than a few."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(texts)
        lengths: dict[str, set[int]] = {}
        for text in self._texts:
            if len(text) > 1:
                lengths.setdefault(text[:2], set()).add(len(text))
        self._lengths = {head: sorted(found) for head, found in lengths.items()}
        first = "".join(re.escape(char) for char in sorted({text[0] for text in self._texts}))
        self._first = re.compile(f"[{first}]") if first else None

    def spans(self, text: str) -> list[Span]:
        if self._first is None:
            return []
        found = []
        for match in self._first.finditer(text):
            start = match.start()
            ends = (start + length for length in self._lengths.get(text[start : start + 2], ()))
            found += [(start, end) for end in ends if text[start:end] in self._texts]
            if text[start] in self._texts:
                found.append((start, start + 1))
        return found
