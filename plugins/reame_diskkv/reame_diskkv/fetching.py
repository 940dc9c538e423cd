"""From a far tier onto the disk, on threads of its own, while the sequence that needs it waits.

What has come is written and indexed like a block of this server's own; restoring it is then the business of the
disk, with all of its checks and prices.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import TYPE_CHECKING

from reame_diskkv.block_file import DamagedBlock, Header, checked_header
from reame_diskkv.chain import TOKEN_BYTES
from reame_diskkv.codec import Bytes
from reame_diskkv.counts import Counts
from reame_diskkv.lookup import Prompt
from reame_diskkv.prices import FarPrices
from reame_diskkv.store import Store
from reame_diskkv.tiers import FarBlock, FarTier, Link, NearTier

if TYPE_CHECKING:
    from reame_core.engine.request import Request

log = logging.getLogger("reame.plugins.diskkv")

_THREADS = 2


class Fetch:
    """What is on its way for one sequence: the engine's thread looks, a thread of the fetcher says."""

    def __init__(self, links: Sequence[Link], before: int, limit: int, far: FarTier) -> None:
        self.links = links
        self.before = before
        """Tokens that are in memory without it."""
        self.limit = limit
        """Tokens of the prompt that can be restored."""
        self.far = far
        self.news = threading.Event()
        """Set whenever a block has come, when it is known how long the next one may take, and at the end."""
        self.arrived: list[FarBlock] = []
        """Those that can be restored now, in order."""
        self.ended = False
        self.patience_s = far.patience_s
        """How long to wait for the next news."""
        self._abandoned = False

    def expect(self, seconds: float) -> None:
        """The next news may take so long."""
        self.patience_s = seconds
        self.news.set()

    def abandon(self) -> None:
        """Nobody waits any more."""
        self._abandoned = True

    @property
    def wanted(self) -> bool:
        return not self._abandoned


class Fetcher:
    """``begin`` is for the engine's thread. ``store`` is one of its own, on the same folder as the writer's."""

    def __init__(
        self,
        near: NearTier,
        store: Store,
        counts: Counts,
        prices: FarPrices,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._near = near
        self._store = store
        self._counts = counts
        self.prices = prices
        self._clock = clock
        self._writing = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def wanted_by(self, request: Request) -> bool:
        """Whether there is a far tier for this request."""
        return self._near.wanted_by(request)

    def begin(self, prompt: Prompt, before: int, limit: int) -> Fetch | None:
        """Look for what comes behind the ``before`` tokens in memory, up to position ``limit``; None where that
        is not worth it."""
        far = self._near.far
        if far is None or self._store.paused or not far.available:
            return None
        if not self.prices.worth_asking(limit - before, far.patience_s):
            return None
        size = prompt.block_tokens
        blocks = prompt.blocks(before // size * size, prompt.length)
        links = [Link(block.root, block.parent, block.start, block.tokens) for block in blocks]
        fetch = Fetch(links, before, limit, far)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="reame-diskkv-fetch")
        self._pool.submit(self._run, fetch)
        return fetch

    def distrust(self, fetch: Fetch, length: int) -> None:
        """Restoring what has come ended at ``length``. Where that was because its cells were not what they
        should be, nobody is to fetch them again. For the engine's thread."""
        block = next((each for each in fetch.arrived if each.end > length), None)
        if block is not None and self._pool is not None:
            self._pool.submit(self._discard_if_gone, fetch.far, block)

    def close(self) -> None:
        """Wait for what is under way."""
        if self._pool is not None:
            self._pool.shutdown()
        with self._writing:
            self._store.close()

    # On a thread of the pool

    def _discard_if_gone(self, far: FarTier, block: FarBlock) -> None:
        try:
            self._store.folder.read_beginning(block.key, 1)
        except FileNotFoundError:
            # Damaged blocks are removed where that is found out.
            far.discard(block)
        except OSError:
            self._counts.failures["read"] += 1

    def _run(self, fetch: Fetch) -> None:
        try:
            for block in self._found(fetch):
                if not fetch.wanted or not self._get(block, fetch):
                    break
        except Exception:
            log.exception("fetching from a far tier has failed")
            self._counts.failures["far"] += 1
        finally:
            fetch.ended = True
            fetch.news.set()

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
        """Whether the block is on the disk now."""
        fetch.expect(fetch.far.patience_s + self.prices.patience_s(block.size))
        started = self._clock()
        data = fetch.far.fetch(block, lambda: fetch.wanted)
        if data is None:
            self._counts.failures["far"] += fetch.wanted
            if not fetch.wanted:
                # It takes at least so long: who did not learn that would wait in vain each time.
                self.prices.took(block.size, 1000 * (self._clock() - started))
            return False
        try:
            header = _checked(data, block)
        except DamagedBlock as error:
            log.warning("a far tier has given something else for a block: %s", error)
            self._counts.failures["damaged"] += 1
            fetch.far.discard(block)
            return False
        with self._writing:
            written = self._store.adopt(header, data)
        if not written:
            return False
        tokens = len(header.block.tokens) // TOKEN_BYTES
        self.prices.took(len(data), 1000 * (self._clock() - started))
        self.prices.cells(header.raw_length / tokens)
        self._counts.far_blocks += 1
        self._counts.far_bytes += len(data)
        fetch.arrived.append(block)
        fetch.news.set()
        return True


def _checked(data: Bytes, expected: FarBlock) -> Header:
    """The header of a file that holds the block it should; what its cells are is found out when they are read.
    Raises DamagedBlock."""
    header = checked_header(data)
    block, link = header.block, expected.link
    if (block.root, block.parent, block.start) != (link.root, link.parent, link.start):
        raise DamagedBlock("another place than was asked for")
    if block.key != expected.key:
        raise DamagedBlock("another block than was asked for")
    return header
