"""Prompts of which a part is on its way from a far tier. For the engine's thread."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from reame_core.plugins.api import KVAccess, SequenceView
from reame_diskkv.arrivals import Arrival, Fetch
from reame_diskkv.cache import Cache
from reame_diskkv.chain import encode
from reame_diskkv.fetching import Fetcher
from reame_diskkv.restoring import Restorer

_MOST_UNDER_WAY = 256


class Fetching:
    """Restores what the disk has, then asks the far tier for what comes behind that, and restores it as it
    comes. Without a far tier it is the restorer alone."""

    def __init__(
        self,
        cache: Cache,
        restorer: Restorer,
        fetcher: Fetcher,
        least: int,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """For fewer than ``least`` tokens nobody is asked."""
        self._cache = cache
        self._restorer = restorer
        self._fetcher = fetcher
        self._least = least
        self._clock = clock
        self._under_way: dict[int, Fetch] = {}
        """By the ids of sequences."""

    def restore(self, sequence: SequenceView, kv: KVAccess) -> int | None:
        """As ``Restorer.restore``; called again when something has come."""
        fetch = self._under_way.get(sequence.id)
        if fetch is not None:
            return self._go_on(sequence, kv, fetch)
        restored = self._restorer.restore(sequence, kv)
        if not self._restorer.has_more(sequence) and (fetch := self._begin(sequence, kv)) is not None:
            if len(self._under_way) >= _MOST_UNDER_WAY:
                self._forget_all()
            self._under_way[sequence.id] = fetch
            kv.wait_for(fetch.news, fetch.patience_s)
        return restored

    def forget(self, sequence: SequenceView) -> None:
        """It has ended, or waits no more."""
        if (fetch := self._under_way.pop(sequence.id, None)) is not None:
            fetch.abandon()

    def _begin(self, sequence: SequenceView, kv: KVAccess) -> Fetch | None:
        if not self._fetcher.wanted_by(sequence.request):
            return None
        # The last prompt token is computed in any case: its logits are needed.
        limit = sequence.prompt_length - 1
        if limit - kv.length < self._least:
            return None
        tokens = encode(sequence.tokens[: sequence.prompt_length])
        return self._fetcher.begin(self._cache.prompt(sequence.request.tenant, tokens), kv.length, limit)

    def _go_on(self, sequence: SequenceView, kv: KVAccess, fetch: Fetch) -> int | None:
        if not self._fetcher.look(fetch):
            self.forget(sequence)
            self._cache.counts.far_late += 1
            return None
        # Before what has come is looked at: what comes meanwhile is news again.
        fetch.news.clear()
        before = kv.length
        if not self._restore_arrived(fetch, kv) or fetch.over:
            self.forget(sequence)
        else:
            kv.wait_for(fetch.news, fetch.patience_s)
        return max(0, kv.length - before) or None

    def _restore_arrived(self, fetch: Fetch, kv: KVAccess) -> bool:
        """Restore what has come, for about ``kv.seconds``; whether what comes behind it is of use."""
        started, done = self._clock(), 0
        while (arrival := fetch.take()) is not None:
            try:
                restored = self._restore(arrival, fetch, kv)
            finally:
                fetch.give_back(arrival)
            if not restored:
                return False
            done += 1
            # Ends where one block more is likely to take too long.
            if (self._clock() - started) * (done + 1) > kv.seconds * done:
                # There may be more of it: the others' turn comes first.
                fetch.news.set()
                break
        return True

    def _restore(self, arrival: Arrival, fetch: Fetch, kv: KVAccess) -> bool:
        """Whether its cells are in memory now, and those behind them could be."""
        step, started, before = arrival.step, self._clock(), kv.length
        if step.end <= before:
            return step.whole
        if not self._restorer.append(step, arrival.state, kv):
            if step.whole:
                self._fetcher.distrust(fetch.far, arrival.far)
            return False
        seconds = self._clock() - started
        self._fetcher.prices.restored(step.raw_bytes, 1000 * seconds)
        counts = self._cache.counts
        counts.restored_bytes += step.raw_bytes
        counts.restore_seconds += seconds
        counts.restored_tokens += max(0, kv.length - before)
        return True

    def _forget_all(self) -> None:
        for fetch in self._under_way.values():
            fetch.abandon()
        self._under_way.clear()
