"""From the KV memory to the writer, when a prompt or an answer is complete."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

from reame_core.plugins.api import KVAccess, SequenceView, Stage
from reame_diskkv.cache import Cache
from reame_diskkv.chain import encode

if TYPE_CHECKING:
    from reame_core.engine.request import Request

KEEP = "keep"
"""As ``Request.extra["diskkv"]``: store this in any case, somebody has asked for it."""


class Exporter:
    """Hands blocks that are not stored yet to the writer: whole ones at once, the rest of a text when it has
    ended."""

    def __init__(
        self,
        cache: Cache,
        min_tokens: int,
        wanted_by: Callable[[Request], bool],
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """``wanted_by`` says whether the blocks of a request may go to a far tier."""
        self._cache = cache
        self._wanted_by = wanted_by
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
        shared = self._wanted_by(sequence.request)
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
            self._cache.write(block, state, shared=shared)
            self._cache.counts.exported_blocks += 1
            self._cache.counts.exported_bytes += len(state)
        self._cache.counts.export_seconds += self._clock() - started
