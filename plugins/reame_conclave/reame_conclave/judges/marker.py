r"""Answers that a text marks as such: ``\boxed{5}``, ``Answer: 5``, ``#### 5``, ``<answer>5</answer>``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reame_conclave.judges.answer import Answer
from reame_conclave.judges.markup import READ
from reame_conclave.judges.values import value_of

_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_LABEL = re.compile(
    r"(?:^[^\S\n]*\#{4}[^\S\n]*|\b(?:answer|result|solution|risposta|antwort|réponse|respuesta|resposta)\b[*_]{0,2}"
    r"[^\S\n]*(?:(?:is|are|è|ist|est|es|é)\b|[=:])[*_]{0,2}[^\S\n]*:?)",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(r"<answer>([^<]*)</answer>", re.IGNORECASE)
_LATEST = 16
"""Markers of one kind that are looked at: a text that repeats itself must not take long to read."""
_SENTENCE = re.compile(r"[.!?](?:\s|$)")


class Marker:
    """Votes by the last answer that is marked as such."""

    name = "marker"

    def read(self, text: str) -> Answer | None:
        marked = sorted(_marked(text[-READ:]))
        for _, content in reversed(marked):
            answer = value_of(content)
            if answer is not None:
                return answer
        return None


def _marked(text: str) -> Iterator[tuple[int, str]]:
    """(where it begins, what is marked)"""
    for match in list(_BOXED.finditer(text))[-_LATEST:]:
        if (content := _in_braces(text, match.end())) is not None:
            yield match.start(), content
    for match in _TAG.finditer(text):
        yield match.start(), match[1]
    for match in list(_LABEL.finditer(text))[-_LATEST:]:
        content = _first_line(text[match.end() : match.end() + 500])
        if not _BOXED.search(content):
            yield match.start(), content


def _in_braces(text: str, start: int) -> str | None:
    """From ``start`` to the brace that closes the one before it, None where the text ends earlier."""
    depth = 1
    for at in range(start, min(len(text), start + 2000)):
        if text[at] in "{}" and text[at - 1] != "\\":
            depth += 1 if text[at] == "{" else -1
            if depth == 0:
                return text[start:at]
    return None


def _first_line(text: str) -> str:
    """The first sentence of the first line that says anything."""
    line = next((line for line in text.splitlines() if line.strip(" *_`#$\\[]")), "")
    end = _SENTENCE.search(line)
    return line[: end.start()] if end and end.start() else line
