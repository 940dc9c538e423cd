"""How far the draft model's own probabilities can be trusted.

A small model that gives its best token 30 % may be right three times out of ten, or always, where the served
model hesitates at the same places and decides in the same way. So what counts is not what it gives, but how
often the served model has said tokens that were given as much.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_STEPS = 8
"""Probabilities are told apart to an eighth."""
_MEMORY = 0.98
_PRIOR_WEIGHT = 4.0
"""Tokens. The first opinion is half as doubtful as the draft model: what is never tried is never learned."""


@dataclass(slots=True)
class Trust:
    """Tokens that were right, and tokens that were compared, by what the draft model gave them; older ones
    count less."""

    _right: list[float] = field(default_factory=lambda: [0.0] * _STEPS)
    _compared: list[float] = field(default_factory=lambda: [0.0] * _STEPS)

    def chance(self, belief: float) -> float:
        """That a token is right which the draft model gives the probability ``belief``."""
        step, prior = _step(belief), (1 + belief) / 2
        return (self._right[step] + _PRIOR_WEIGHT * prior) / (self._compared[step] + _PRIOR_WEIGHT)

    def observe(self, belief: float, *, right: bool) -> None:
        """The served model said such a token, or another."""
        self.fade(belief)
        step = _step(belief)
        self._right[step] += right
        self._compared[step] += 1

    def fade(self, belief: float) -> None:
        """Forget a little of such tokens. Where none is tried any more, the first opinion comes back, and with
        it, after a while, another trial."""
        step = _step(belief)
        self._right[step] *= _MEMORY
        self._compared[step] *= _MEMORY


@dataclass(frozen=True, slots=True)
class Guesses:
    """What the draft model would say from token ``start`` of a text on."""

    start: int
    trust: Trust
    tokens: list[int] = field(default_factory=list)
    beliefs: list[float] = field(default_factory=list)

    def add(self, token: int, belief: float) -> None:
        """``token`` comes next; the best token there was given ``belief``."""
        self.tokens.append(token)
        self.beliefs.append(belief)

    def compare(self, text: NDArray[np.int32]) -> None:
        """Let ``trust`` know how much of it stands in ``text`` (tokens,), as far as that goes by now."""
        said = text[self.start :].tolist()
        for guess, token, belief in zip(self.tokens, said, self.beliefs, strict=False):
            self.trust.observe(belief, right=guess == token)
            if guess != token:
                break


def _step(belief: float) -> int:
    return min(_STEPS - 1, int(belief * _STEPS))
