"""The core's own verifier: lossless for any draft."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Draft, SequenceView, TokenChooser, Verdict


def verify_draft(draft: Draft, logits: NDArray[np.float32], chooser: TokenChooser) -> Verdict:
    """Judge ``draft`` by ``logits`` (len(draft.tokens) + 1, vocabulary).

    A looked-up draft is kept as long as it is what the target would have chosen anyway, with the same random
    numbers, or (greedy) ties with that within the noise floor. A draft sampled from distributions q is kept
    with probability min(1, p/q), and a rejected token is resampled from the residual max(0, p - q) (Leviathan
    et al. 2023, Chen et al. 2023); both leave the distribution of the output as it is without drafts.
    """
    if draft.distributions is not None:
        return _verify_sampled(draft, draft.distributions, logits, chooser)
    for index, drafted in enumerate(draft.tokens):
        token = chooser.confirm(logits[index], drafted)
        if token != drafted:
            return Verdict(index, token)
        chooser.accept(token)
    return Verdict(len(draft.tokens), chooser.choose(logits[len(draft.tokens)]))


def _verify_sampled(
    draft: Draft, distributions: NDArray[np.float32], logits: NDArray[np.float32], chooser: TokenChooser
) -> Verdict:
    for index, drafted in enumerate(draft.tokens):
        target = chooser.probabilities(logits[index])
        proposal = distributions[index]
        if chooser.uniform() * proposal[drafted] >= target[drafted]:
            residual = np.maximum(target - proposal, 0)
            return Verdict(index, chooser.draw(residual if residual.any() else target))
        chooser.accept(drafted)
    return Verdict(len(draft.tokens), chooser.choose(logits[len(draft.tokens)]))


class CoreVerifier:
    """The built-in plugin behind every other verifier."""

    @hookimpl(trylast=True)
    def verify(
        self, sequence: SequenceView, draft: Draft, logits: NDArray[np.float32], chooser: TokenChooser
    ) -> Verdict | None:
        """See ``verify_draft``."""
        return verify_draft(draft, logits, chooser)
