"""From a far tier to the engine, on threads of its own, while the sequence that needs it waits.

What has come is opened and checked in memory and restored from there; behind that it is written to the disk and
indexed like a block of this server's own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import TYPE_CHECKING
from weakref import WeakSet

from reame_diskkv.arrivals import Arrival, Fetch, OpenBlocks
from reame_diskkv.block_file import Block, DamagedBlock, Header, read_block, read_header
from reame_diskkv.chain import TOKEN_BYTES, common_tokens
from reame_diskkv.codec import Bytes, Decompressor
from reame_diskkv.counts import Counts
from reame_diskkv.keeping import Keeper
from reame_diskkv.lookup import Prompt, Step
from reame_diskkv.prices import FarPrices
from reame_diskkv.tiers import FarBlock, FarTier, Link, NearTier

if TYPE_CHECKING:
    from reame_core.engine.request import Request

log = logging.getLogger("reame.plugins.diskkv")

_THREADS = 2
_OPEN = 4
"""Blocks that have come and wait to be restored, those of all sequences together."""
_LOST_S = 2.0
"""What nobody has looked at for so long belongs to a request that was cancelled: it is not told here."""


class Fetcher:
    """``begin``, ``look`` and ``distrust`` are for the engine's thread."""

    def __init__(
        self,
        near: NearTier,
        keeper: Keeper,
        counts: Counts,
        prices: FarPrices,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._near = near
        self.keeper = keeper
        self._counts = counts
        self.prices = prices
        self._clock = clock
        self._open = OpenBlocks(_OPEN)
        self._under_way: WeakSet[Fetch] = WeakSet()
        self._pool: ThreadPoolExecutor | None = None

    def wanted_by(self, request: Request) -> bool:
        """Whether there is a far tier for this request."""
        return self._near.wanted_by(request)

    def begin(self, prompt: Prompt, before: int, limit: int) -> Fetch | None:
        """Look for what comes behind the ``before`` tokens in memory, up to position ``limit``; None where that
        is not worth it."""
        far = self._near.far
        if far is None or not far.available:
            return None
        if not self.prices.worth_asking(limit - before, far.patience_s):
            return None
        self._forget_lost()
        size = prompt.block_tokens
        blocks = prompt.blocks(before // size * size, prompt.length)
        links = [Link(block.root, block.parent, block.start, block.tokens) for block in blocks]
        fetch = Fetch(links, before, limit, far, self._open, self._clock())
        self._under_way.add(fetch)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="reame-diskkv-fetch")
        self._pool.submit(self._run, fetch)
        return fetch

    def look(self, fetch: Fetch) -> bool:
        """Whether there is news of it."""
        fetch.looked_at = self._clock()
        return fetch.news.is_set()

    def _forget_lost(self) -> None:
        lost = self._clock() - _LOST_S
        for fetch in list(self._under_way):
            if fetch.looked_at < lost:
                fetch.abandon()

    def distrust(self, far: FarTier, block: FarBlock) -> None:
        """Its cells were not what they should be: nobody is to fetch them again."""
        self.keeper.discard(block.key)
        if self._pool is not None:
            self._pool.submit(far.discard, block)

    def close(self) -> None:
        """Wait for what is under way, and hand to the writer what has come."""
        for fetch in list(self._under_way):
            fetch.abandon()
        if self._pool is not None:
            self._pool.shutdown()
        self.keeper.begin()

    # On a thread of the pool

    def _run(self, fetch: Fetch) -> None:
        try:
            for block in self._found(fetch):
                if not self._get(block, fetch):
                    break
        except Exception:
            log.exception("fetching from a far tier has failed")
            self._counts.failures["far"] += 1
        finally:
            fetch.end()

    def _found(self, fetch: Fetch) -> list[FarBlock]:
        """What is worth fetching of what there is."""
        if not fetch.wanted:
            return []
        started = self._clock()
        found = list(fetch.far.find(fetch.links))
        self.prices.asked(1000 * (self._clock() - started))
        self._counts.far_lookups += 1
        chosen = self.prices.worthwhile(found, fetch.before, fetch.limit)
        if found and not chosen:
            self._counts.far_unprofitable += 1
        self._counts.far_hits += bool(chosen)
        return chosen

    def _get(self, block: FarBlock, fetch: Fetch) -> bool:
        """Whether the block has come, and another one may."""
        decompressor = self._open.get(lambda: fetch.wanted)
        if decompressor is None:
            return False
        arrival = None
        try:
            arrival = self._fetched(block, fetch, decompressor)
        finally:
            if arrival is None:
                self._open.give_back(decompressor)
        if arrival is not None:
            fetch.put(arrival)
        return arrival is not None

    def _fetched(self, block: FarBlock, fetch: Fetch, decompressor: Decompressor) -> Arrival | None:
        fetch.expect(fetch.far.patience_s + self.prices.patience_s(block.size))
        started = self._clock()
        data = fetch.far.fetch(block, lambda: fetch.wanted)
        if data is None:
            self._counts.failures["far"] += fetch.wanted
            if not fetch.wanted:
                # It takes at least so long: who did not learn that would wait in vain each time.
                self.prices.took(block.size, 1000 * (self._clock() - started))
            return None
        try:
            header, state = _opened(data, block, decompressor)
        except DamagedBlock as error:
            log.warning("a far tier has given something else for a block: %s", error)
            self._counts.failures["damaged"] += 1
            fetch.far.discard(block)
            return None
        tokens = len(header.block.tokens) // TOKEN_BYTES
        self.prices.took(len(data), 1000 * (self._clock() - started))
        self.prices.cells(header.raw_length / tokens)
        self._counts.far_blocks += 1
        self._counts.far_bytes += len(data)
        self.keeper.keep(header, data)
        return Arrival(block, _step(header, block.link, fetch.limit, len(data)), state, decompressor)


def _opened(data: Bytes, expected: FarBlock, decompressor: Decompressor) -> tuple[Header, memoryview]:
    """(header, cells) of a file that holds the block it should. Raises DamagedBlock."""
    header = read_header(data)
    block, link = header.block, expected.link
    if (block.root, block.parent, block.start) != (link.root, link.parent, link.start):
        raise DamagedBlock("another place than was asked for")
    if block.key != expected.key:
        raise DamagedBlock("another block than was asked for")
    return header, read_block(data, block, decompressor)[1]


def _step(header: Header, link: Link, limit: int, file_bytes: int) -> Step:
    """As the disk's index would say it."""
    block: Block = header.block
    take = min(common_tokens(block.tokens, link.tokens), limit - block.start)
    return Step(block, take, header.raw_length, file_bytes)
