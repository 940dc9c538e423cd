"""The contract of plugins with ``propose_draft``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.plugins.api import Draft, SequenceView
from reame_core.testing.contracts.laws import (
    BrokenLaw,
    MakePlugin,
    Step,
    check_answers,
    check_failures,
    for_all,
    play,
    schedules,
)
from reame_core.testing.driving import plugged
from reame_core.testing.fake_backend import FakeBackend

Propose = Callable[[SequenceView, int], Any]


def check_drafter(make: MakePlugin, *, options: dict[str, object] | None = None, examples: int = 40) -> None:
    """Drive the drafter that ``make`` makes through ``examples`` schedules of requests. Raises BrokenLaw where

    - an answer differs from the one without it, greedy or seeded, alone or among others, cancelled or not;
    - it raises;
    - what it answers is no draft: tokens that the vocabulary has not, more than were asked for, a confidence
      that is no probability, distributions that do not fit the tokens;
    - it writes into the tokens it is shown.
    """
    for parallel in (1, 3):

        def check(schedule: Sequence[Step], parallel: int = parallel) -> None:
            backend = FakeBackend()
            witness = _Witness(backend.info.vocabulary_size)
            with plugged(make(), backend, options=options, parallel=parallel, watch=witness.watch) as running:
                played = play(running, schedule)
                check_failures(running)
            witness.testify()
            check_answers(played)

        for_all(schedules(), check, max(1, examples // 2))


class _Witness:
    """Looks at every answer before the engine does."""

    def __init__(self, vocabulary: int) -> None:
        self._vocabulary = vocabulary
        self._wrong: list[str] = []

    def watch(self, hooks: EngineHooks) -> EngineHooks:
        calls = tuple((name, self._watched(call)) for name, call in hooks.propose_draft.calls)
        return replace(hooks, propose_draft=GuardedHook(calls))

    def testify(self) -> None:
        """Raise BrokenLaw for the first thing that was wrong."""
        if self._wrong:
            raise BrokenLaw(f"propose_draft: {self._wrong[0]}")

    def _watched(self, propose: Propose) -> Propose:
        def call(sequence: SequenceView, limit: int) -> Any:
            before = sequence.tokens.copy()
            draft = propose(sequence, limit)
            if not np.array_equal(sequence.tokens, before):
                self._wrong.append("it wrote into sequence.tokens, which are the engine's own")
            if draft is not None:
                self._wrong += self._faults(draft, limit)
            return draft

        return call

    def _faults(self, draft: object, limit: int) -> list[str]:
        if not isinstance(draft, Draft):
            return [f"it answered {draft!r:.60}, which is neither a Draft nor None"]
        wrong = []
        strange = [token for token in draft.tokens if not 0 <= token < self._vocabulary]
        if strange:
            wrong.append(f"it drafted token {strange[0]}: the vocabulary ends at {self._vocabulary - 1}")
        if len(draft.tokens) > limit:
            wrong.append(
                f"it drafted {len(draft.tokens)} tokens where {limit} were asked for: the rest is lost"
            )
        if draft.confidence is not None and not 0 <= draft.confidence <= 1:
            wrong.append(f"its confidence is {draft.confidence}, no probability from 0 to 1")
        if draft.match_length is not None and draft.match_length < 0:
            wrong.append(f"its match_length is {draft.match_length}")
        return wrong + self._unfit_distributions(draft)

    def _unfit_distributions(self, draft: Draft) -> list[str]:
        if draft.distributions is None:
            return [] if draft.probabilities is None else ["probabilities without distributions say nothing"]
        expected = (len(draft.tokens), self._vocabulary)
        if draft.distributions.shape != expected:
            return [f"its distributions have the shape {draft.distributions.shape}, not {expected}"]
        sums = draft.distributions.sum(axis=1)
        if not np.allclose(sums, 1, atol=1e-3):
            return [f"a distribution sums up to {sums[np.abs(sums - 1).argmax()]:.4f}, not to 1"]
        if not all(line[token] > 0 for line, token in zip(draft.distributions, draft.tokens, strict=True)):
            return ["it drew a token to which its own distribution gives no chance"]
        return []
