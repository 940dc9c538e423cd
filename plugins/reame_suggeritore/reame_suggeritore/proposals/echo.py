"""The question's own words, where an answer begins with them: "Sure, here is a table of ten trees and …:"."""

from __future__ import annotations

import re

_LEAST, _SURE_FROM = 8, 16
"""Characters that question and answer have in common before the next words are proposed, or are likely."""
_PERHAPS, _LIKELY = 0.4, 0.8
_LONGEST = 100
_WORD = re.compile(r"\w+")
_STOP = re.compile(r"[.:;!?\n]")
_FORMS = {"json": "```json\n", "csv": "```csv\n", "table": "|", "bullet": "-", "list": "1."}
"""What a question asks for, to what it begins with behind an introduction."""


class Echo:
    """``question`` is the last turn before the answer."""

    def __init__(self, question: str) -> None:
        self._question = question
        self._folded = question.lower()
        self._starts = [word.start() for word in _WORD.finditer(question)]
        self._form = next((mark for asked, mark in _FORMS.items() if asked in self._folded), "")

    def go_on(self, begun: str) -> tuple[str, float] | None:
        """How the first line of an answer goes on that has ``begun`` like this, to the end of its only sentence
        and the beginning of the form that was asked for; and how sure that is."""
        if not begun[-1:].isalnum() or _STOP.search(begun):
            return None
        place, shared = self._longest(begun.lower())
        if shared < _LEAST:
            return None
        text = _STOP.split(self._question[place:], maxsplit=1)[0].rstrip()
        if self._form and (text or shared >= _SURE_FROM):
            text += f":\n\n{self._form}"
        return (text[:_LONGEST], _LIKELY if shared >= _SURE_FROM else _PERHAPS) if text else None

    def _longest(self, begun: str) -> tuple[int, int]:
        """Where the longest end of ``begun`` that is whole words of the question ends there, and its length."""
        for word in _WORD.finditer(begun):
            tail = begun[word.start() :]
            places = [at for at in self._starts if self._folded.startswith(tail, at)]
            if places:
                return places[-1] + len(tail), len(tail)
        return 0, 0
