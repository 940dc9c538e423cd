"""What runs while an engine does: folder, writer and cache, put together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from reame_core.config import directories
from reame_core.plugins.api import KVAccess, Metric, PluginContext, SequenceView, Stage
from reame_diskkv.cache import Cache, Shape
from reame_diskkv.chain import encode, root_key
from reame_diskkv.counts import Counts
from reame_diskkv.explaining import Explanation, Inquiry, explain
from reame_diskkv.exporting import Exporter
from reame_diskkv.fetching import Fetcher
from reame_diskkv.figures import metrics_of
from reame_diskkv.folder import BlockFolder
from reame_diskkv.index import Index
from reame_diskkv.keeping import Keeper
from reame_diskkv.lookup import Prompt
from reame_diskkv.options import Options
from reame_diskkv.prices import FarPrices
from reame_diskkv.restoring import Restorer
from reame_diskkv.room import Limits
from reame_diskkv.sessions import Sessions
from reame_diskkv.store import Store
from reame_diskkv.tiers import NearTier
from reame_diskkv.waiting import Fetching
from reame_diskkv.writer import Writer

log = logging.getLogger("reame.plugins.diskkv")

_DAY = 86_400.0
_MOST_UNDER_WAY = 4096


def folder_of(options: Options) -> Path:
    """Where the blocks are."""
    return Path(options.folder).expanduser() if options.folder else directories().cache / "diskkv"


def limits_of(options: Options) -> Limits:
    ttl = options.ttl_days * _DAY if options.ttl_days is not None else None
    return Limits(int(options.max_size_mb * 1e6), ttl)


class Service:
    """The hooks' work. ``start`` makes one."""

    def __init__(
        self,
        options: Options,
        cache: Cache,
        piece: Callable[[int], bytes],
        fetcher: Fetcher,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.options = options
        self.cache = cache
        self._piece = piece
        self._clock = clock
        self._restorer = Restorer(cache, clock)
        self.fetcher = fetcher
        self._fetching = Fetching(cache, self._restorer, fetcher, options.min_tokens)
        self._exporter = Exporter(cache, options.min_tokens, fetcher.wanted_by, clock)
        self._under_way: dict[int, tuple[float, int]] = {}
        """When and at which length each sequence began to be computed."""

    @classmethod
    def start(cls, options: Options, context: PluginContext) -> Service | None:
        """None, with a warning, where the folder cannot be used at all."""
        counts = Counts()
        try:
            folder = BlockFolder(folder_of(options), sync=options.fsync)
        except OSError as error:
            log.warning(
                "the disk cache is off: %s cannot be used (%s)", folder_of(options), error.strerror or error
            )
            return None
        window = context.model.window
        # A block that reaches beyond a sliding window could only be restored whole.
        size = min(options.block_tokens, window) if window else options.block_tokens
        store = Store(folder, limits_of(options), counts, log.warning, level=options.level)
        store.find_sessions()  # and have the index there before it is asked
        near = NearTier()
        store.written = near.offer
        writer = Writer(store, int(options.queue_mb * 1e6))
        shape = Shape(context.model.name, context.namespace, size)
        cache = Cache(shape, store, writer, counts, context.model.threads)
        cache.prepare()
        keeper = Keeper(writer, int(options.queue_mb * 1e6))
        cache.is_coming = keeper.is_pending
        fetcher = Fetcher(near, keeper, counts, FarPrices(lambda: cache.prices))
        context.offers.make(near)
        return cls(options, cache, context.piece, fetcher)

    def close(self) -> None:
        """Write what waits and stop."""
        self.fetcher.close()
        self.cache.writer.close()
        self.cache.close()
        self.cache.store.folder.close()

    def on_prefill(self, sequence: SequenceView, kv: KVAccess) -> int | None:
        in_memory = kv.length
        inquiry = sequence.request.extra.get("diskkv")
        if isinstance(inquiry, Inquiry) and inquiry.open:
            inquiry.answer(in_memory, self._explain(sequence))
        restored = self._fetching.restore(sequence, kv)
        if len(self._under_way) > _MOST_UNDER_WAY:
            self._under_way.clear()
        self._under_way[sequence.id] = self._clock(), kv.length
        return restored

    def persist(self, sequence: SequenceView, kv: KVAccess, stage: Stage) -> None:
        began = self._under_way.pop(sequence.id, None)
        if began is not None and kv.length >= sequence.prompt_length:
            since, length = began
            self.cache.prices.computed(sequence.prompt_length - length, 1000 * (self._clock() - since))
        self.fetcher.keeper.begin()
        if stage is Stage.END:
            self._fetching.forget(sequence)
        self._exporter.export(sequence, kv, stage)

    def _explain(self, sequence: SequenceView) -> Explanation | None:
        tokens = encode(sequence.tokens[: sequence.prompt_length])
        prompt = self.cache.prompt(sequence.request.tenant, tokens)
        description = self.cache.shape.description(sequence.request.tenant)
        return self.cache.ask(lambda index: explain(index, prompt, self._piece, description))

    def metrics(self) -> list[Metric]:
        return metrics_of(self.cache.counts, self.cache.store.paused)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that was exported or fetched is on disk; whether it is. Not for the engine's
        thread."""
        self.fetcher.keeper.begin()
        return self.cache.writer.flush(timeout)

    def root(self, tenant: str) -> bytes:
        """The root of a tenant's chains. For any thread."""
        return root_key(self.cache.shape.namespace, tenant, self.cache.shape.block_tokens)

    def sessions(self) -> Sessions:
        """The sessions in the folder. For any thread."""
        store = self.cache.store
        return Sessions(store.folder, store.sessions, self.cache.shape.block_tokens, store.room)

    def explain(self, tenant: str, tokens: Sequence[int]) -> Explanation:
        """Why ``tokens`` would have to be computed. For any thread. Raises IndexUnusable or IndexBroken."""
        shape = self.cache.shape
        prompt = Prompt(self.root(tenant), encode(np.array(tokens, np.int32)), shape.block_tokens)
        index = Index(self.cache.store.folder.path, read_only=True)
        try:
            return explain(index, prompt, self._piece, shape.description(tenant))
        finally:
            index.close()
