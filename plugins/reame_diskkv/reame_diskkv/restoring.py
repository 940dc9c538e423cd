"""From the disk into the KV memory, when a sequence begins."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from time import perf_counter

from reame_core.plugins.api import KVAccess, SequenceView
from reame_diskkv.cache import Cache
from reame_diskkv.chain import encode
from reame_diskkv.lookup import Step

_MOST_PLANS = 64


class Restorer:
    """Puts the longest stored chain of a prompt behind what memory has of it."""

    def __init__(self, cache: Cache, clock: Callable[[], float] = perf_counter) -> None:
        self._cache = cache
        self._clock = clock
        self._left: dict[int, list[Step]] = {}
        """What is still to be restored of sequences that get their prefix in parts, by their ids."""

    def has_more(self, sequence: SequenceView) -> bool:
        """Whether there was no time for all that is stored of ``sequence``."""
        return sequence.id in self._left

    def restore(self, sequence: SequenceView, kv: KVAccess, *, again: bool = False) -> int | None:
        """How many tokens more than before are in memory now, None for none. Takes about ``kv.seconds``; what
        is left is restored when it is asked again. ``again``: this prompt has been looked up before."""
        started, before = self._clock(), kv.length
        steps = self._left.pop(sequence.id, [])
        begins = not steps or steps[0].block.start != before
        if begins:
            steps = self._find(sequence, before, again=again)
        done, left = self._follow(steps, kv, started)
        if not done:
            return None
        if left:
            if len(self._left) >= _MOST_PLANS:
                self._left.clear()
            self._left[sequence.id] = left
            kv.go_on_later()
        self._count(done, max(0, kv.length - before), self._clock() - started, begins=begins and not again)
        return max(0, kv.length - before) or None

    def _count(self, done: list[Step], gained: int, seconds: float, *, begins: bool) -> None:
        self._cache.used(done[-1])
        size = sum(step.raw_bytes for step in done)
        self._cache.prices.read(size, 1000 * seconds)
        counts = self._cache.counts
        counts.restored_bytes += size
        counts.restore_seconds += seconds
        counts.restored_tokens += gained
        counts.hits += begins

    def _find(self, sequence: SequenceView, before: int, *, again: bool) -> list[Step]:
        # The last prompt token is computed in any case: its logits are needed.
        limit = sequence.prompt_length - 1
        if limit <= before:
            return []
        if not again:
            self._cache.counts.lookups += 1
            self._cache.counts.wanted_tokens += limit - before
        return self._worthwhile(self._plan(sequence, before, limit), before)

    def _plan(self, sequence: SequenceView, before: int, limit: int) -> list[Step]:
        prompt = self._cache.prompt(sequence.request.tenant, encode(sequence.tokens[: sequence.prompt_length]))
        size = self._cache.shape.block_tokens
        return self._cache.find(prompt, before // size * size, limit)

    def _worthwhile(self, steps: list[Step], before: int) -> list[Step]:
        """What of ``steps`` is read faster than computed."""
        prices = self._cache.prices
        if steps and not steps[-1].whole and not prices.pays(steps[-1].take, steps[-1].raw_bytes):
            steps = steps[:-1]
        if not steps or steps[-1].end <= before:
            return []
        if prices.pays(steps[-1].end - before, sum(step.raw_bytes for step in steps)) or prices.try_anyway():
            return steps
        self._cache.counts.unprofitable += 1
        return []

    def _follow(self, steps: list[Step], kv: KVAccess, started: float) -> tuple[list[Step], list[Step]]:
        """Restore block after block as far as that goes: (steps that were done, steps for which there was no
        time)."""
        done: list[Step] = []
        with closing(self._cache.states(steps)) as states:
            for step, state in zip(steps, states, strict=False):
                if state is None or not self.append(step, state, kv):
                    break
                done.append(step)
                # Ends where one block more is likely to take too long.
                if (self._clock() - started) * (len(done) + 1) > kv.seconds * len(done):
                    return done, steps[len(done) :]
        return done, []

    def append(self, step: Step, state: memoryview, kv: KVAccess) -> bool:
        """Put the verified cells of a block behind what is in memory; whether they are there now."""
        # Memory's own prefix may end inside the first block; it is given up only for something better.
        if kv.length > step.block.start and not kv.cut(step.block.start):
            return False
        if kv.restore(step.block.end, state, step.end):
            return True
        if step.whole:
            self._cache.counts.failures["refused"] += 1
            self._cache.discard(step.block.key)
        return False
