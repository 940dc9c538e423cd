"""Judges of whole texts and of letters."""

from __future__ import annotations

import re

from reame_conclave.judges.answer import Answer
from reame_conclave.judges.markup import plain
from reame_conclave.judges.values import choice_of, same_text

_NAMED = re.compile(
    r"\b(?:answer|option|choice|choose|risposta|antwort|réponse|respuesta|resposta)\b"
    r"[^\S\n]*(?:is|are|è|ist|est|es|é|would be|:|=)?[^\S\n]*[:\"'(]{0,3}([B-HJ]|[AI](?!['’]|[^\S\n]+\w))\b",
    re.IGNORECASE,
)


class ExactText:
    """Votes by the whole text, but for case, spaces and what stands around it."""

    name = "text"

    def read(self, text: str) -> Answer | None:
        return same_text(text)


class ChoiceLetter:
    """Votes by the letter of a choice, A to J: "B", "(B)", "B. Paris", "the answer is B"."""

    name = "choice"

    def read(self, text: str) -> Answer | None:
        named = [match[1] for match in _NAMED.finditer(plain(text)) if match[1].isupper()]
        if named:
            return Answer("choice", named[-1], named[-1])
        for line in (text, *reversed([line for line in text.splitlines() if line.strip()])):
            if (letter := choice_of(line)) is not None:
                return letter
        return None
