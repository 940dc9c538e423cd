"""The text of one sequence so far, in lines, kept up with its tokens."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

SHORT_HEAD = 40
"""Characters behind a prompt's last control token that are a chat template's, not the beginning of a text."""


@dataclass(slots=True)
class Line:
    """``ends`` holds, for each of its tokens, how many characters there are up to the token's end."""

    text: str = ""
    ends: list[int] = field(default_factory=list)

    def tokens(self, start: int, end: int) -> int:
        """How many tokens the characters [start, end) take: those that end there, and one that goes beyond."""
        whole = sum(1 for at in self.ends if start < at <= end)
        return whole if not self.ends or end in self.ends else whole + 1


class Page:
    """Lines since the last control token. ``piece`` gives the bytes of a token, none for control tokens."""

    def __init__(self, piece: Callable[[int], bytes]) -> None:
        self._piece = piece
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.before: list[Line] = []
        """Those before the last control token."""
        self.lines: list[Line] = []
        """The complete ones behind it."""
        self.current = Line()
        """What stands behind the last line break."""
        self.fresh: list[str] = []
        """The texts of the tokens that were read last, for who reads along."""

    @property
    def whole(self) -> bool:
        """Whether the last token ends with a whole character."""
        return not self._decoder.getstate()[0]

    def read(self, tokens: Iterable[int]) -> None:
        """Go on by ``tokens``."""
        self.fresh = []
        for token in tokens:
            data = self._piece(token)
            if data:
                text = self._decoder.decode(data)
                self.fresh.append(text)
                self._append(text)
            else:
                self._begin_anew()

    def _append(self, text: str) -> None:
        first, *further = text.split("\n")
        self._extend(first)
        for part in further:
            self.lines.append(self.current)
            self.current = Line()
            self._extend(part)

    def _extend(self, part: str) -> None:
        if part:
            self.current.text += part
            self.current.ends.append(len(self.current.text))

    def _begin_anew(self) -> None:
        self._decoder.reset()
        self.before += self.lines
        if self.current.text:
            self.before.append(self.current)
        self.lines, self.current, self.fresh = [], Line(), []

    def begin_answer(self, *, control_before: bool) -> None:
        """The prompt has been read, with a control token somewhere in it or not. What a chat template puts
        before an answer is no part of its text."""
        length = sum(len(line.text) + 1 for line in self.lines) + len(self.current.text)
        if control_before and length <= SHORT_HEAD:
            self.lines, self.current = [], Line()
        while self.before and not self.before[-1].text:
            self.before.pop()
