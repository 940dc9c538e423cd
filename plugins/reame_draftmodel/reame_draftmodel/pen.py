"""One draft while it is being written: from lines of the draft model's logits to tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reame_core.plugins.api import Draft, DraftWish

Logits = NDArray[np.float32]


class Pen:
    """``size`` is the vocabulary of the served model, ``end_tokens`` are those behind which nothing comes."""

    def __init__(self, wish: DraftWish, most: int, p_min: float, size: int, end_tokens: frozenset[int]) -> None:
        self.tokens: list[int] = []
        self.done = False
        self._wish = wish
        self._most = min(most, wish.limit)
        self._p_min = p_min
        self._size = size
        self._ends = wish.sequence.request.stop_tokens
        if not wish.sequence.request.ignore_end:
            self._ends |= end_tokens
        self._chooser = wish.sequence.chooser()
        self._greedy = wish.sequence.request.sampling.temperature == 0
        self._rows: list[Logits] = []

    def write(self, line: Logits) -> None:
        """Choose the next token by ``line`` (draft vocabulary,), or end the draft. It ends *before* a token is
        chosen: a token that was drawn is never dropped, whatever it is."""
        logits = self._fitted(line)
        if self._greedy:
            if _peak(logits) < self._p_min:
                self.done = True
                return
            token = self._chooser.choose(logits)
        else:
            share = self._chooser.probabilities(logits)
            if share.max() < self._p_min:
                self.done = True
                return
            token = self._chooser.draw(share) if self._wish.drawn else int(share.argmax())
            self._rows.append(share)
        self._chooser.accept(token)
        self.tokens.append(token)
        self.done = len(self.tokens) >= self._most or token in self._ends

    def _fitted(self, line: Logits) -> Logits:
        """(served vocabulary,): tokens that only one of the models has are impossible."""
        if len(line) >= self._size:
            return line[: self._size]
        logits = np.full(self._size, -np.inf, np.float32)
        logits[: len(line)] = line
        return logits

    @property
    def draft(self) -> Draft:
        """What was written."""
        if not self._wish.drawn or not self.tokens:
            return Draft(self.tokens)
        rows = np.array(self._rows)
        shares = rows[np.arange(len(self.tokens)), self.tokens].tolist()
        return Draft(self.tokens, shares, rows)


def _peak(logits: Logits) -> float:
    """The probability of the best token."""
    return float(1 / np.exp(logits - logits.max()).sum())
