"""Prompts of which a part is on its way from a far tier. For the engine's thread."""

from __future__ import annotations

from reame_core.plugins.api import KVAccess, SequenceView
from reame_diskkv.cache import Cache
from reame_diskkv.chain import encode
from reame_diskkv.fetching import Fetch, Fetcher
from reame_diskkv.restoring import Restorer

_MOST_UNDER_WAY = 256


class Fetching:
    """Restores what the disk has, then asks the far tier for what comes behind that, and restores it as it
    comes. Without a far tier it is the restorer alone."""

    def __init__(self, cache: Cache, restorer: Restorer, fetcher: Fetcher, least: int) -> None:
        """For fewer than ``least`` tokens nobody is asked."""
        self._cache = cache
        self._restorer = restorer
        self._fetcher = fetcher
        self._least = least
        self._under_way: dict[int, _UnderWay] = {}
        """By the ids of sequences."""

    def restore(self, sequence: SequenceView, kv: KVAccess) -> int | None:
        """As ``Restorer.restore``; called again when something has come."""
        state = self._under_way.get(sequence.id)
        if state is not None and state.waits:
            return self._go_on(sequence, kv, state)
        restored = self._restorer.restore(sequence, kv, again=state is not None)
        if self._restorer.has_more(sequence):
            return restored
        if state is not None:
            self._wait_or_end(sequence, kv, state)
        elif (fetch := self._begin(sequence, kv)) is not None:
            if len(self._under_way) >= _MOST_UNDER_WAY:
                self._forget_all()
            self._wait_or_end(sequence, kv, _UnderWay(fetch))
        return restored

    def forget(self, sequence: SequenceView) -> None:
        """It has ended."""
        if (state := self._under_way.pop(sequence.id, None)) is not None:
            state.fetch.abandon()

    def _begin(self, sequence: SequenceView, kv: KVAccess) -> Fetch | None:
        if not self._fetcher.wanted_by(sequence.request):
            return None
        # The last prompt token is computed in any case: its logits are needed.
        limit = sequence.prompt_length - 1
        if limit - kv.length < self._least:
            return None
        tokens = encode(sequence.tokens[: sequence.prompt_length])
        return self._fetcher.begin(self._cache.prompt(sequence.request.tenant, tokens), kv.length, limit)

    def _wait_or_end(self, sequence: SequenceView, kv: KVAccess, state: _UnderWay) -> None:
        """Wait for more of it, where there may be more."""
        fetch = state.fetch
        # What comes behind a block that could not be restored is of no use.
        broken = state.seen > 0 and kv.length < min(fetch.arrived[state.seen - 1].end, fetch.limit)
        if broken or (fetch.ended and len(fetch.arrived) == state.seen):
            self._under_way[sequence.id] = state
            self.forget(sequence)
            if broken:
                self._fetcher.distrust(fetch, kv.length)
            return
        state.waits = True
        self._under_way[sequence.id] = state
        kv.wait_for(state.fetch.news, state.fetch.patience_s)

    def _go_on(self, sequence: SequenceView, kv: KVAccess, state: _UnderWay) -> int | None:
        fetch = state.fetch
        if not fetch.news.is_set():
            self.forget(sequence)
            self._cache.counts.far_late += 1
            return None
        # Before the others are looked at: what comes meanwhile is news again.
        fetch.news.clear()
        restored, arrived = None, len(fetch.arrived)
        if arrived > state.seen:
            state.waits, state.seen = False, arrived
            restored = self._restorer.restore(sequence, kv, again=True)
            if self._restorer.has_more(sequence):
                return restored
        self._wait_or_end(sequence, kv, state)
        return restored

    def _forget_all(self) -> None:
        for state in self._under_way.values():
            state.fetch.abandon()
        self._under_way.clear()


class _UnderWay:
    """One sequence that waits, or restores what has come."""

    def __init__(self, fetch: Fetch) -> None:
        self.fetch = fetch
        self.waits = False
        self.seen = 0
        """Blocks of it that the disk has been asked for."""
