"""What a prompt says about the answer: how many things are asked for, and which token ends a turn."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from reame_core.plugins.api import ModelInfo

_WORDS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_NUMBER = re.compile(rf"(?<![\w.,])(?:(\d{{1,3}})|({'|'.join(_WORDS)}))(?![\w%]|[.,]\d)", re.IGNORECASE)
_BETWEEN = "\0"


class Prompt:
    """``tokens`` are all of it, or the last ones."""

    def __init__(self, tokens: Sequence[int], piece: Callable[[int], bytes], info: ModelInfo) -> None:
        data = b"".join(piece(token) or _BETWEEN.encode() for token in tokens)
        self.parts = [part for part in data.decode(errors="replace").split(_BETWEEN) if part.strip()]
        """Texts between control tokens."""
        self.has_control_tokens = any(not piece(token) for token in tokens[1:])
        self.end_token = self._end_token(tokens, info)

    @staticmethod
    def _end_token(tokens: Sequence[int], info: ModelInfo) -> int | None:
        """The one that ended a turn before, or that ends texts."""
        used = [token for token in tokens if token in info.end_tokens]
        return used[-1] if used else info.special_tokens.get(info.eos_text)

    @property
    def question(self) -> str:
        """The last turn before the answer."""
        asked = [part for part in self.parts if len(part) > 40]
        return asked[-1] if asked else "".join(self.parts[-2:])

    def numbers(self) -> frozenset[int]:
        """Those that the question mentions: perhaps it asks for so many things."""
        found = set()
        for digits, word in _NUMBER.findall(self.question):
            found.add(int(digits) if digits else _WORDS.index(word.lower()) + 2)
        return frozenset(found - {0, 1})
