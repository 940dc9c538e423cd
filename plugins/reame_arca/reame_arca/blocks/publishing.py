"""From the disk cache's writer into the store, on a thread of the lowest priority."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reame_arca.background import be_nice
from reame_arca.blocks.ledger import Ledger
from reame_arca.blocks.trails import Member, decode_member
from reame_arca.large import has, read_heads, remove_large, write_large
from reame_arca.later import Later
from reame_arca.store import Unavailable

if TYPE_CHECKING:
    from reame_diskkv.block_file import Block
    from reame_diskkv.codec import Bytes

    from reame_arca.blocks.far import Names
    from reame_arca.connection import Client
    from reame_arca.counts import Counts
    from reame_arca.store import Store

_MOST_CHILDREN = 4096
"""Blocks behind one parent that can be found by a part of their tokens."""


@dataclass(frozen=True, slots=True)
class _Offer:
    block: Block
    parts: tuple[Bytes, ...]
    size: int


class Publisher:
    """``offer`` is for any thread and never waits; the rest happens on a thread of its own."""

    def __init__(
        self,
        store: Store,
        names: Names,
        ledger: Callable[[], Ledger],
        counts: Counts,
        *,
        limit: int,
        queue_bytes: int,
        ttl_s: float,
    ) -> None:
        self._store = store
        self._names = names
        self._ledger = ledger()
        self._counts = counts
        self._limit = limit
        self._ttl = ttl_s
        self._thread: int | None = None
        self._later: Later[_Offer] = Later(queue_bytes, self._publish)

    def offer(self, block: Block, parts: Sequence[Bytes]) -> None:
        """Publish a block soon, or not at all where too much waits."""
        size = sum(map(len, parts))
        if not self._store.takes_values:
            self._counts.add("blocks", "not tried")
        elif size > self._limit:
            self._counts.add("blocks", "too large")
        elif not self._later.put(size, _Offer(block, tuple(parts), size)):
            self._counts.add("blocks", "dropped")

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until what was offered is in the store or given up; whether it is."""
        return self._later.flush(timeout)

    def close(self, timeout: float) -> None:
        self._later.close(timeout)

    def _publish(self, offer: _Offer) -> None:
        if self._thread != threading.get_native_id():
            self._thread = threading.get_native_id()
            be_nice()
        if not self._store.takes_values:
            self._counts.add("blocks", "not tried")
            return
        try:
            written = self._store.patiently(lambda client: self._write(client, offer))
        except Unavailable:
            self._counts.add("blocks", "not written")
            return
        self._counts.add("blocks", "published" if written else "known")
        if written:
            self._counts.add("block_bytes", "published", offer.size)

    def _write(self, client: Client, offer: _Offer) -> bool:
        block = offer.block
        space = self._names.space(block.root)
        name = self._names.block(block.root, block.key)
        if has(client, name):
            return False
        children = self._names.children(block.root, block.parent)
        trail = self._names.trail(block.root, block.parent, block.tokens)
        member = Member(trail, block.key, offer.size)
        shorter, covering = self._neighbours(client, children, trail)
        if covering and has(client, self._names.block(block.root, covering.key)):
            return False
        head = write_large(client, space, name, offer.parts, self._ttl)
        with client.pipeline(transaction=False) as pipe:
            pipe.zadd(children, {member.encode(): 0})
            pipe.pexpire(children, int(1000 * self._ttl))
            pipe.zcard(children)
            count = pipe.execute()[-1]
        if isinstance(count, int) and count > _MOST_CHILDREN:
            # In the order of hashes any of them is a random one.
            first = random.randrange(count)
            client.zremrangebyrank(children, first, first + count - _MOST_CHILDREN)
        if shorter is not None:
            self._remove(client, block.root, children, shorter)
        removed = self._ledger.wrote(client, name, head)
        self._counts.add("blocks", "made room", removed)
        return True

    def _neighbours(self, client: Client, children: str, trail: bytes) -> tuple[Member | None, Member | None]:
        """(a block that holds a beginning of this one and nothing else, a block that holds all of it)."""
        with client.pipeline(transaction=False) as pipe:
            pipe.zrevrangebylex(children, b"(" + trail, b"-", 0, 1)
            pipe.zrangebylex(children, b"[" + trail, b"+", 0, 1)
            before, after = ([decode_member(each) for each in answer or ()] for answer in pipe.execute())
        shorter = next((each for each in before if each and trail.startswith(each.trail)), None)
        covering = next((each for each in after if each and each.trail.startswith(trail)), None)
        return shorter, covering

    def _remove(self, client: Client, root: bytes, children: str, member: Member) -> None:
        name = self._names.block(root, member.key)
        [head] = read_heads(client, self._names.space(root), [name])
        if head is not None:
            remove_large(client, name, head)
        client.zrem(children, member.encode())
