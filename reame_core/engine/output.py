"""From generated tokens to deliverable text: whole characters, and no byte of a stop text."""

from __future__ import annotations

import codecs
from collections import deque
from dataclasses import dataclass

from reame_core.engine.events import TokenLogprob


@dataclass(frozen=True, slots=True)
class Deliverable:
    """Text that can be given out now, with the tokens whose text is thereby complete."""

    text: str
    tokens: tuple[int, ...]
    logprobs: tuple[TokenLogprob, ...]


@dataclass(slots=True)
class _Held:
    token: int
    logprob: TokenLogprob | None
    start: int
    """Where the token's text begins, in characters from the beginning of the answer."""
    end: int


class OutputText:
    """The text of one choice, fed token by token.

    Bytes that do not yet make a whole character and text that may turn out to be the beginning of a stop
    text are held back. ``stops`` are the stop texts of the request.
    """

    def __init__(self, stops: tuple[str, ...] = ()) -> None:
        self._stops = stops
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._delivered = 0
        self._held: deque[_Held] = deque()
        self.stopped_by: str | None = None
        self._taken: list[str] = []

    def push(self, token: int, piece: bytes, logprob: TokenLogprob | None = None) -> bool:
        """Take one more token. True where a stop text is complete: nothing may be pushed after that."""
        start = self._delivered + len(self._pending)
        text = self._decoder.decode(piece)
        self._pending += text
        end = start + len(text)
        if self._decoder.getstate()[0]:
            end += 1  # the token ends inside a character that is still to come
        self._held.append(_Held(token, logprob, start, end))
        if text and self._stops:
            return self._cut_at_stop(len(text))
        return False

    def _cut_at_stop(self, fresh: int) -> bool:
        # The stop that is complete first, and of several the longest: as if characters came one by one.
        found: list[tuple[int, int, str]] = []
        for stop in self._stops:
            at = self._pending.find(stop, max(0, len(self._pending) - fresh - len(stop) + 1))
            if at >= 0:
                found.append((at + len(stop), at, stop))
        if not found:
            return False
        _, at, self.stopped_by = min(found)
        self._pending = self._pending[:at]
        cut = self._delivered + at
        while self._held and self._held[-1].start >= cut < self._held[-1].end:
            self._held.pop()
        return True

    def take(self, *, final: bool = False) -> Deliverable | None:
        """What can be delivered now; with ``final`` everything, the incomplete end of a character dropped."""
        keep = 0 if final or self.stopped_by is not None else self._withheld()
        ready = len(self._pending) - keep
        text = self._pending[:ready]
        self._pending = self._pending[ready:]
        self._delivered += ready
        tokens: list[int] = []
        logprobs: list[TokenLogprob] = []
        while self._held and (final or self._held[0].end <= self._delivered):
            held = self._held.popleft()
            tokens.append(held.token)
            if held.logprob is not None:
                logprobs.append(held.logprob)
        if not text and not tokens:
            return None
        self._taken.append(text)
        return Deliverable(text, tuple(tokens), tuple(logprobs))

    def _withheld(self) -> int:
        """Length of the longest end of the pending text that some stop text begins with."""
        longest = 0
        for stop in self._stops:
            for length in range(min(len(stop) - 1, len(self._pending)), longest, -1):
                if self._pending.endswith(stop[:length]):
                    longest = length
                    break
        return longest

    @property
    def text(self) -> str:
        """Everything taken so far."""
        if len(self._taken) > 1:
            self._taken = ["".join(self._taken)]
        return self._taken[0] if self._taken else ""
