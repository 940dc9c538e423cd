"""From the KV memory to the writer, when a prompt or an answer is complete."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from reame_core.plugins.api import KVAccess, SequenceView, Stage
from reame_diskkv.cache import Cache
from reame_diskkv.chain import encode

KEEP = "keep"
"""As ``Request.extra["diskkv"]``: store this in any case, somebody has asked for it."""


class Exporter:
    """Hands blocks that are not stored yet to the writer: whole ones at once, the rest of a text when it has
    ended."""

    def __init__(self, cache: Cache, min_tokens: int, clock: Callable[[], float] = perf_counter) -> None:
        self._cache = cache
        self._min_tokens = min_tokens
        self._clock = clock
        self._bytes_per_token = 0.0

    def export(self, sequence: SequenceView, kv: KVAccess, stage: Stage) -> None:
        """Copy what is new of ``sequence``."""
        length = kv.length
        size = self._cache.shape.block_tokens
        end = length if stage is Stage.END else length // size * size
        wished = sequence.request.extra.get("diskkv") == KEEP
        if not end or self._cache.store.paused or (length < self._min_tokens and not wished):
            return
        prompt = self._cache.prompt(sequence.request.tenant, encode(sequence.tokens[:length]))
        started = self._clock()
        for block in self._cache.missing(prompt.blocks(0, end)):
            tokens = block.end - block.start
            if not self._cache.writer.has_room(int(tokens * self._bytes_per_token)):
                # What comes behind a gap would never be found.
                self._cache.counts.dropped += 1
                break
            state = kv.export(block.start, block.end)
            self._bytes_per_token = len(state) / tokens
            if not wished and not self._cache.prices.pays(tokens, len(state)):
                break
            self._cache.write(block, state)
            self._cache.counts.exported_blocks += 1
            self._cache.counts.exported_bytes += len(state)
        self._cache.counts.export_seconds += self._clock() - started
