"""The judge for whoever names none."""

from __future__ import annotations

from reame_conclave.judges.answer import Answer, Judge
from reame_conclave.judges.json_value import JsonValue
from reame_conclave.judges.marker import Marker
from reame_conclave.judges.numbers import FinalNumber
from reame_conclave.judges.texts import ExactText
from reame_conclave.judges.values import choice_of


class _LetterAlone:
    """A text that is a lettered choice in one line."""

    name = "letter"

    def read(self, text: str) -> Answer | None:
        return choice_of(text) if "\n" not in text.strip() else None


class Auto:
    """What a text marks as its answer, else its JSON, its letter, its final number, and at last the whole text.
    Each text for itself: a marked 5 and a final "five" vote together."""

    name = "auto"

    def __init__(self) -> None:
        self._judges: tuple[Judge, ...] = (
            JsonValue(objects_only=True),
            Marker(),
            _LetterAlone(),
            FinalNumber(),
            ExactText(),
        )

    def read(self, text: str) -> Answer | None:
        return next((answer for judge in self._judges if (answer := judge.read(text)) is not None), None)
