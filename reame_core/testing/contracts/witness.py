"""Looks at what a drafter answers before the engine does."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.plugins.api import Draft, DraftPrice, DraftWish, SequenceView
from reame_core.testing.contracts.draws import rank_of
from reame_core.testing.contracts.laws import BrokenLaw

_TOLERANCE = 1e-3


class DraftWitness:
    """Stands between an engine and the draft hooks of its plugins."""

    def __init__(self, vocabulary: int) -> None:
        self.proposed: list[tuple[int, ...]] = []
        """The tokens of each draft, in the order in which they came."""
        self.ranks: list[float] = []
        """Of each token that was drawn: see ``rank_of``."""
        self._vocabulary = vocabulary
        self._chance = random.Random(0)
        self._wrong: list[str] = []

    def watch(self, hooks: EngineHooks) -> EngineHooks:
        """``hooks``, watched."""
        return replace(
            hooks,
            propose_draft=_around(hooks.propose_draft, self._proposing),
            price_drafts=_around(hooks.price_drafts, self._pricing),
            compute_drafts=_around(hooks.compute_drafts, self._computing),
        )

    def testify(self) -> None:
        """Raise BrokenLaw for the first thing that was wrong."""
        if self._wrong:
            raise BrokenLaw(self._wrong[0])

    def _proposing(self, propose: Callable[..., Any]) -> Callable[..., Any]:
        def call(sequence: SequenceView, limit: int) -> Any:
            before = sequence.tokens.copy()
            draft = propose(sequence, limit)
            self._look("propose_draft", DraftWish(sequence, limit, _draws(sequence)), before, draft)
            return draft

        return call

    def _pricing(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        def call(wishes: Sequence[DraftWish]) -> Any:
            price = ask(wishes)
            if price is not None and not (isinstance(price, DraftPrice) and price.is_sound):
                self._wrong.append(
                    f"price_drafts: {price!r:.80} is neither None nor a DraftPrice of more than 0 ms a token"
                )
            return price

        return call

    def _computing(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        def call(wishes: Sequence[DraftWish]) -> Any:
            before = [wish.sequence.tokens.copy() for wish in wishes]
            drafts = compute(wishes)
            if drafts is None:
                return None
            if not isinstance(drafts, (list, tuple)) or len(drafts) != len(wishes):
                self._wrong.append(
                    f"compute_drafts: it answered {drafts!r:.60} to {len(wishes)} wishes: one entry for each, "
                    "in their order, is wanted"
                )
                return drafts
            for wish, tokens, draft in zip(wishes, before, drafts, strict=True):
                self._look("compute_drafts", wish, tokens, draft)
            return drafts

        return call

    def _look(self, hook: str, wish: DraftWish, before: NDArray[np.int32], draft: object) -> None:
        if not np.array_equal(wish.sequence.tokens, before):
            self._wrong.append(f"{hook}: it wrote into sequence.tokens, which are the engine's own")
        if draft is None:
            return
        faults = self._faults(draft, wish)
        self._wrong += [f"{hook}: {fault}" for fault in faults]
        if isinstance(draft, Draft) and not faults:
            self.proposed.append(tuple(map(int, draft.tokens)))
            if draft.distributions is not None:
                self.ranks += [
                    rank_of(token, line, self._chance.random())
                    for token, line in zip(draft.tokens, draft.distributions, strict=True)
                ]

    def _faults(self, draft: object, wish: DraftWish) -> list[str]:
        if not isinstance(draft, Draft):
            return [f"it answered {draft!r:.60}, which is neither a Draft nor None"]
        wrong = []
        strange = [token for token in draft.tokens if not 0 <= token < self._vocabulary]
        if strange:
            wrong.append(f"it drafted token {strange[0]}: the vocabulary ends at {self._vocabulary - 1}")
        if len(draft.tokens) > wish.limit:
            wrong.append(
                f"it drafted {len(draft.tokens)} tokens where {wish.limit} were asked for: the rest is lost"
            )
        if draft.confidence is not None and not 0 <= draft.confidence <= 1:
            wrong.append(f"its confidence is {draft.confidence}, no probability from 0 to 1")
        if draft.match_length is not None and draft.match_length < 0:
            wrong.append(f"its match_length is {draft.match_length}")
        return wrong or self._unfit_distributions(draft, wish)

    def _unfit_distributions(self, draft: Draft, wish: DraftWish) -> list[str]:
        lines, shares = draft.distributions, draft.probabilities
        if lines is None:
            return [] if shares is None else ["probabilities without distributions say nothing"]
        expected = (len(draft.tokens), self._vocabulary)
        if lines.shape != expected:
            return [f"its distributions have the shape {lines.shape}, not {expected}"]
        sums = lines.sum(axis=1)
        if not np.allclose(sums, 1, atol=_TOLERANCE):
            return [f"a distribution sums up to {sums[np.abs(sums - 1).argmax()]:.4f}, not to 1"]
        drawn = lines[np.arange(len(draft.tokens)), list(draft.tokens)]
        if not (drawn > 0).all():
            return ["it drew a token to which its own distribution gives no chance"]
        if shares is not None and (
            len(shares) != len(drawn) or not np.allclose(shares, drawn, atol=_TOLERANCE)
        ):
            return ["its probabilities are not those that its distributions give to the drafted tokens"]
        if not wish.drawn:
            return [
                "it drew a draft where none may be drawn: a seeded or constrained answer has to be the one it "
                "would be without drafts (DraftWish.drawn)"
            ]
        return []


def _draws(sequence: SequenceView) -> bool:
    """Whether drafts for ``sequence`` may be drawn, as ``DraftWish.drawn`` says it. A greedy one has nothing to
    lose: its verdict is the same whatever a draft says of itself."""
    sampling = sequence.request.sampling
    return sampling.temperature == 0 or (sampling.seed is None and sequence.constraint is None)


def _around(hook: GuardedHook, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> GuardedHook:
    return GuardedHook(tuple((name, wrap(call)) for name, call in hook.calls))
