"""Choosing the next token from a line of logits.

Sampled tokens are found by inverting the cumulative distribution at one uniform number a token, drawn from
a generator of the choice's own. So a draft changes nothing: a drafted token is kept exactly when the very
same number would have chosen it, and a seeded answer is the same with drafts and without.
"""

from __future__ import annotations

import copy
from collections import Counter, deque
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.events import TokenLogprob
from reame_core.engine.request import SamplingParams

Logits = NDArray[np.float32]

_COLDEST = 1e-6
"""Lower temperatures are like this one, and float32 could not divide by them."""
_LEAST_PENALTY = 1e-6
"""Likewise for factors of repeated tokens."""
_ROUNDING = 1e-4
"""More than float32 loses in a logarithm here."""


class Sampler:
    """The state of one choice: its random numbers and the tokens that penalties count."""

    def __init__(
        self, params: SamplingParams, prompt: Iterable[int], choice: int = 0, noise_floor: float = 0.0
    ) -> None:
        self._params = params
        self._noise_floor = noise_floor
        entropy = None if params.seed is None else [params.seed & ((1 << 64) - 1), choice]
        self._seeds = np.random.SeedSequence(entropy)
        self._random: np.random.Generator | None = None
        self._greedy = params.plain_greedy
        self._recent: deque[int] | None = None
        if params.repeat_penalty != 1 and params.repeat_window:
            self._recent = deque(prompt, maxlen=params.repeat_window)
        self._generated: Counter[int] = Counter()

    def fork(self) -> Sampler:
        """A sampler of its own in the same state."""
        twin = copy.copy(self)
        twin._random = copy.deepcopy(self._random)
        twin._recent = copy.copy(self._recent)
        twin._generated = self._generated.copy()
        return twin

    def apart(self) -> Sampler:
        """As ``fork``, but with other random numbers: for drafts, whose draws are not to be the verdict's."""
        twin = self.fork()
        twin._seeds, twin._random = np.random.SeedSequence(), None
        return twin

    def choose(self, logits: Logits) -> int:
        """The next token for one line of logits (vocabulary,)."""
        if self._greedy:
            return int(logits.argmax())
        adjusted = self._adjusted(logits)
        if self._params.temperature == 0:
            return int(adjusted.argmax())
        tokens, weights = self._candidates(adjusted)
        return _invert(tokens, weights, self.uniform())

    def confirm(self, logits: Logits, drafted: int) -> int:
        """The token chosen; a greedy request takes ``drafted`` where it is within the noise floor of the best.

        Kernels for many rows and for one row differ by about that much, so either token is what the model
        says; taking the drafted one is what makes a repeated request give the very text it gave before."""
        if self._params.temperature > 0 or not self._noise_floor:
            return self.choose(logits)
        adjusted = self._adjusted(logits)
        best = int(adjusted.argmax())
        return drafted if adjusted[drafted] >= adjusted[best] - self._noise_floor else best

    def probabilities(self, logits: Logits) -> Logits:
        """(vocabulary,) the distribution that ``choose`` draws from; one-hot when greedy."""
        result = np.zeros(len(logits), np.float32)
        adjusted = self._adjusted(logits)
        if self._params.temperature == 0:
            result[adjusted.argmax()] = 1
            return result
        tokens, weights = self._candidates(adjusted)
        share = weights / weights.sum()
        if tokens is None:
            result[:] = share
        else:
            result[tokens] = share
        return result

    def accept(self, token: int) -> None:
        """Count ``token`` as generated."""
        if self._greedy:
            return
        self._generated[token] += 1
        if self._recent is not None:
            self._recent.append(token)

    def uniform(self) -> float:
        """The next random number of [0, 1)."""
        if self._random is None:
            self._random = np.random.Generator(np.random.PCG64(self._seeds))
        return float(self._random.random())

    def draw(self, weights: Logits) -> int:
        """A token drawn with probabilities proportional to ``weights`` (vocabulary,)."""
        return _invert(None, weights.astype(np.float64), self.uniform())

    def _adjusted(self, logits: Logits) -> Logits:
        """The logits after bias and penalties; the argument itself where neither applies."""
        params = self._params
        penalise = params.presence_penalty or params.frequency_penalty
        if not params.logit_bias and self._recent is None and not (penalise and self._generated):
            return logits
        adjusted = logits.copy()
        if params.logit_bias:
            adjusted[list(params.logit_bias)] += np.array(list(params.logit_bias.values()), np.float32)
        if self._recent:
            recent = list(set(self._recent))
            values = adjusted[recent]
            penalty = np.float32(max(params.repeat_penalty, _LEAST_PENALTY))
            adjusted[recent] = np.where(values > 0, values / penalty, values * penalty)
        if penalise and self._generated:
            counts = np.fromiter(self._generated.values(), np.float32)
            adjusted[list(self._generated)] -= params.presence_penalty + params.frequency_penalty * counts
        return adjusted

    def _candidates(self, logits: Logits) -> tuple[NDArray[np.intp] | None, NDArray[np.float64]]:
        """(tokens by falling probability, their unnormalised weights); tokens None stands for the whole
        vocabulary in order, where nothing is cut off."""
        params = self._params
        scaled = (logits - logits.max()) / np.float32(max(params.temperature, _COLDEST))
        full = params.top_k == 0 or params.top_k >= len(scaled)
        if full and params.top_p >= 1 and params.min_p <= 0:
            return None, np.exp(scaled, dtype=np.float64)
        top = None if full else np.argpartition(scaled, -params.top_k)[-params.top_k :]
        shown = scaled if top is None else scaled[top]
        least = np.log(params.min_p) if params.min_p > 0 else -np.inf
        if params.top_p < 1:
            total = np.exp(shown).sum(dtype=np.float64)
            # Tokens this improbable cannot, all together, reach into the last 1 - top_p of the mass, so only
            # the others need sorting.
            improbable = np.log(min(total * (1 - params.top_p) / len(shown), 1.0)) - _ROUNDING
            least = max(least, improbable)
        tokens = np.flatnonzero(shown >= least)
        tokens = tokens if top is None else top[tokens]
        order = np.lexsort((tokens, -scaled[tokens]))
        tokens = tokens[order]
        weights = np.exp(scaled[tokens], dtype=np.float64)
        if params.top_p < 1:
            kept = int(np.searchsorted(np.cumsum(weights), params.top_p * total)) + 1
            tokens, weights = tokens[:kept], weights[:kept]
        return tokens, weights


def _invert(tokens: NDArray[np.intp] | None, weights: NDArray[np.float64], uniform: float) -> int:
    cumulative = np.cumsum(weights)
    index = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
    # Where rounding leads behind the end, the last token that has any weight.
    index = min(index, int(np.searchsorted(cumulative, cumulative[-1])))
    return index if tokens is None else int(tokens[index])


def token_logprob(logits: Logits, token: int, alternatives: int) -> TokenLogprob:
    """The log-probability of ``token`` under ``logits``, before bias, penalties and temperature, with the
    ``alternatives`` best tokens, as far as they are possible."""
    peak = logits.max()
    normaliser = peak + np.log(np.exp(logits - peak, dtype=np.float32).sum(dtype=np.float64))
    top: tuple[tuple[int, float], ...] = ()
    if alternatives:
        best = np.argpartition(logits, -alternatives)[-alternatives:]
        best = best[np.lexsort((best, -logits[best]))]
        top = tuple((int(t), min(0.0, float(logits[t] - normaliser))) for t in best if logits[t] > -np.inf)
    return TokenLogprob(token, min(0.0, float(logits[token] - normaliser)), top)
