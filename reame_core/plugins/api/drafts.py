"""Guesses at the next tokens, what they cost and what becomes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reame_core.plugins.api.sequences import SequenceView


@dataclass(frozen=True, slots=True)
class Draft:
    """A guess at the next tokens."""

    tokens: Sequence[int]
    """Tokens expected after ``sequence.tokens``, best first position first."""
    probabilities: Sequence[float] | None = None
    """For drafts *sampled* from a distribution: the probability with which each token was drawn, together
    with ``distributions``. None for a draft that was looked up."""
    distributions: NDArray[np.float32] | None = None
    """(len(tokens), vocabulary) the whole distribution each token was drawn from; needed with
    ``probabilities`` to resample a rejected token from the residual.

    The arithmetic takes for granted that every token that is drawn is verified. A source may stop *before* it
    draws, by what the distribution looks like, but must not drop tokens, or whole drafts, by what was drawn: in
    place of those it drops the target draws anew, so that those it keeps would come too often."""
    confidence: float | None = None
    """What the source believes about each token, 0 to 1. From 0.98 on, without a ``match_length``, it says that
    the tokens follow from a rule: the core then believes it before it has seen anything of it."""
    match_length: int | None = None
    """For drafts that were looked up: how many of the latest tokens led there. Drafts with longer matches are
    judged apart from those with shorter ones."""
    label: str = ""
    """What the draft was made of, for sources that make drafts in several ways: how often each way is right is
    learned apart. A fixed set of few names."""

    def shortened(self, length: int) -> Draft:
        """The first ``length`` tokens of this draft."""
        if length >= len(self.tokens):
            return self
        return Draft(
            self.tokens[:length],
            None if self.probabilities is None else self.probabilities[:length],
            None if self.distributions is None else self.distributions[:length],
            self.confidence,
            self.match_length,
            self.label,
        )


@dataclass(frozen=True, slots=True)
class DraftWish:
    """A sequence for which a computed draft would be welcome."""

    sequence: SequenceView
    limit: int
    """Tokens that would be verified; none beyond."""
    drawn: bool = False
    """Whether the draft may be *drawn*, with ``Draft.distributions``: the request samples, and no seed promises
    the very answer it would have without drafts. ``sequence.chooser()`` draws as the request does."""


@dataclass(frozen=True, slots=True)
class DraftPrice:
    """What computed drafts would cost, in milliseconds of the engine thread."""

    per_token: float
    """For one more token of every draft that was wished for."""
    catch_up: float = 0.0
    """Before that, once: to read what is new of the sequences."""
    most: int = 64
    """Tokens that a draft may have."""

    @property
    def is_sound(self) -> bool:
        """Whether these can be prices."""
        return 0 < self.per_token < math.inf and 0 <= self.catch_up < math.inf and self.most >= 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a draft."""

    accepted: int
    """How many drafted tokens are kept."""
    next_token: int
    """The token after them, chosen from the target's own logits."""
