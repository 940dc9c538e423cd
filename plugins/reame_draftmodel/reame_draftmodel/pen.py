"""One draft while it is being written: from lines of the draft model's logits to tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reame_core.plugins.api import Draft, DraftWish
from reame_draftmodel.trust import Guesses, Trust

Logits = NDArray[np.float32]


class Pen:
    """``size`` is the vocabulary of the served model, ``end_tokens`` are those behind which nothing comes."""

    def __init__(
        self, wish: DraftWish, most: int, p_min: float, trust: Trust, size: int, end_tokens: frozenset[int]
    ) -> None:
        self.tokens: list[int] = []
        self.done = False
        self.guesses = Guesses(len(wish.sequence.tokens), trust)
        """The tokens, and the one that would have come if the draft ended because it is too doubtful."""
        self._trust = trust
        self._drawn = wish.drawn
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
        """Choose the next token by ``line`` (draft vocabulary,), or end the draft. What is drawn is drawn
        *after* it was decided that the draft goes on, and never dropped, whatever it is."""
        logits = self._fitted(line)
        share = None if self._greedy else self._chooser.probabilities(logits)
        belief = _peak(logits) if share is None else float(share.max())
        doubtful = self._trust.chance(belief) < self._p_min
        if doubtful and self._drawn:
            self._trust.fade(belief)
        else:
            token = self._choose(logits, share)
            self.guesses.add(token, belief)
            if not doubtful:
                self._append(token, share)
        self.done = doubtful or len(self.tokens) >= self._most or self.tokens[-1] in self._ends

    def _choose(self, logits: Logits, share: Logits | None) -> int:
        if share is None:
            return self._chooser.choose(logits)
        return self._chooser.draw(share) if self._drawn else int(share.argmax())

    def _append(self, token: int, share: Logits | None) -> None:
        self._chooser.accept(token)
        self.tokens.append(token)
        if share is not None and self._drawn:
            self._rows.append(share)

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
        if not self._drawn or not self.tokens:
            return Draft(self.tokens)
        rows = np.array(self._rows)
        shares = rows[np.arange(len(self.tokens)), self.tokens].tolist()
        return Draft(self.tokens, shares, rows)


def _peak(logits: Logits) -> float:
    """The probability of the best token."""
    return float(1 / np.exp(logits - logits.max()).sum())
