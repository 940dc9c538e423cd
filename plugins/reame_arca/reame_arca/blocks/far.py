"""The shared store as diskkv's far tier."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reame_diskkv.chain import TOKEN_BYTES, child_key
from reame_diskkv.tiers import FarBlock, Link
from redis.exceptions import ResponseError

from reame_arca.blocks.ledger import Ledger
from reame_arca.blocks.trails import Member, decode_member, trail_of
from reame_arca.large import Head, read_heads, read_pieces, remove_large
from reame_arca.store import Unavailable
from reame_arca.wishes import wants

if TYPE_CHECKING:
    from reame_diskkv.block_file import Block
    from reame_diskkv.codec import Bytes

    from reame_arca.blocks.publishing import Publisher
    from reame_arca.connection import Client
    from reame_arca.counts import Counts
    from reame_arca.sealing import Space
    from reame_arca.store import Store
    from reame_core.engine.request import Request

_QUESTIONS = 2
"""Round trips in which a chain is found."""
_REMEMBERED = 1024


class Names:
    """What blocks are called in the store. For any thread."""

    def __init__(self, space_of: Callable[[bytes], Space]) -> None:
        """``space_of`` makes the space of a root."""
        self._space_of = space_of
        self._spaces: dict[bytes, Space] = {}

    def space(self, root: bytes) -> Space:
        space = self._spaces.get(root)
        if space is None:
            if len(self._spaces) >= _REMEMBERED:
                self._spaces.clear()
            space = self._spaces[root] = self._space_of(root)
        return space

    def block(self, root: bytes, key: bytes) -> str:
        return self.space(root).name(b"block", key)

    def children(self, root: bytes, parent: bytes) -> str:
        """Of the sorted set of all blocks behind ``parent``."""
        return self.space(root).name(b"children", parent)

    def trail(self, root: bytes, parent: bytes, tokens: bytes) -> bytes:
        return trail_of(self.space(root).name(b"trail", parent), tokens)


@dataclass(frozen=True, slots=True)
class _Known:
    """What was found out about a block on the way."""

    head: Head | None
    member: bytes | None


class SharedBlocks:
    """A ``FarTier``; see there for threads. Asked within the store's ``timeout_s``, fetched patiently."""

    def __init__(
        self,
        store: Store,
        names: Names,
        publisher: Publisher,
        ledger: Callable[[], Ledger],
        counts: Counts,
        *,
        limit: int,
        ttl_s: float,
    ) -> None:
        """Blocks of more than ``limit`` bytes are not fetched; what is fetched stays for ``ttl_s`` seconds."""
        self._store = store
        self._names = names
        self._publisher = publisher
        self._ledger = ledger()
        self._counts = counts
        self._limit = limit
        self._ttl = ttl_s
        self._known: OrderedDict[bytes, _Known] = OrderedDict()

    @property
    def available(self) -> bool:
        return self._store.available

    @property
    def patience_s(self) -> float:
        return _QUESTIONS * self._store.timeout_s

    def wanted_by(self, request: Request) -> bool:
        return wants(request, "blocks")

    def offer(self, block: Block, parts: Sequence[Bytes]) -> None:
        self._publisher.offer(block, parts)

    def find(self, links: Sequence[Link]) -> Sequence[FarBlock]:
        try:
            found = self._find(links)
        except Unavailable:
            return ()
        self._counts.add("block_lookups", "found" if found else "not found")
        return found

    def _find(self, links: Sequence[Link]) -> list[FarBlock]:
        whole, rest = list(links), None
        # Only the end of a prompt is shorter than a block; nothing else could be told by its key.
        if len(links) > 1 and len(links[-1].tokens) < len(links[0].tokens):
            rest = whole.pop()
        chain: list[FarBlock] = []
        heads, neighbours = self._store.ask(lambda client: self._ask(client, whole, rest))
        for link, head in zip(whole, heads, strict=True):
            if head is None or head.size > self._limit:
                break
            key = child_key(link.parent, link.tokens)
            self._remember(key, _Known(head, None))
            chain.append(FarBlock(link, key, len(link.tokens) // TOKEN_BYTES, head.size))
        end = rest
        if len(chain) < len(whole):
            end = missing = whole[len(chain)]
            neighbours = self._store.ask(lambda client: self._neighbours(client, missing))
        best = self._best(end, neighbours) if end is not None else None
        return [*chain, best] if best is not None else chain

    def _ask(
        self, client: Client, whole: Sequence[Link], rest: Link | None
    ) -> tuple[list[Head | None], list[Member]]:
        names = [self._names.block(link.root, child_key(link.parent, link.tokens)) for link in whole]
        heads = read_heads(client, self._names.space(whole[0].root), names) if whole else []
        return heads, self._neighbours(client, rest) if rest is not None and None not in heads else []

    def _neighbours(self, client: Client, link: Link) -> list[Member]:
        """The blocks behind the link's parent that come before and after it in order."""
        name = self._names.children(link.root, link.parent)
        trail = self._names.trail(link.root, link.parent, link.tokens)
        with client.pipeline(transaction=False) as pipe:
            pipe.zrangebylex(name, b"[" + trail, b"+", 0, 1)
            pipe.zrevrangebylex(name, b"(" + trail, b"-", 0, 1)
            answers = pipe.execute()
        members = [decode_member(value) for answer in answers for value in answer or ()]
        return [member for member in members if member is not None]

    def _best(self, link: Link, neighbours: Sequence[Member]) -> FarBlock | None:
        trail = self._names.trail(link.root, link.parent, link.tokens)
        best = max(neighbours, key=lambda member: member.common(trail), default=None)
        if best is None or not best.common(trail):
            return None
        self._remember(best.key, _Known(None, best.encode()))
        return FarBlock(link, best.key, best.common(trail), best.size)

    def _remember(self, key: bytes, known: _Known) -> None:
        self._known[key] = known
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def fetch(self, block: FarBlock, go_on: Callable[[], bool]) -> Bytes | None:
        if block.size > self._limit:
            return None
        try:
            data = self._store.patiently(lambda client: self._fetch(client, block, go_on))
        except Unavailable:
            self._counts.add("blocks", "not fetched")
            return None
        if data is None:
            if go_on():
                self._counts.add("blocks", "wrong or gone")
                self.discard(block)
            return None
        self._counts.add("blocks", "fetched")
        self._counts.add("block_bytes", "fetched", len(data))
        return data

    def _fetch(self, client: Client, block: FarBlock, go_on: Callable[[], bool]) -> Bytes | None:
        root = block.link.root
        name, space = self._names.block(root, block.key), self._names.space(root)
        known = self._known.get(block.key)
        head = known.head if known is not None else None
        if head is None:
            [head] = read_heads(client, space, [name])
        if head is None:
            return None
        data = read_pieces(client, space, name, head, self._limit, go_on, self._ttl)
        if data is not None:
            # A full store can be read, and notes nothing.
            with contextlib.suppress(ResponseError):
                self._ledger.used(client, name, head)
        return data

    def discard(self, block: FarBlock) -> None:
        known = self._known.pop(block.key, None)
        self._store_quietly(lambda client: self._discard(client, block, known))

    def _discard(self, client: Client, block: FarBlock, known: _Known | None) -> None:
        link, name = block.link, self._names.block(block.link.root, block.key)
        [head] = read_heads(client, self._names.space(link.root), [name])
        if head is not None:
            remove_large(client, name, head)
        else:
            client.unlink(name)
        member = known.member if known is not None else None
        if member is None:
            member = Member(self._names.trail(link.root, link.parent, link.tokens), block.key, 0).encode()
        children = self._names.children(link.root, link.parent)
        # Of which size it was said to be does not matter.
        client.zremrangebylex(children, b"[" + member[:-4], b"(" + member[:-4] + b"\xff" * 5)

    def _store_quietly(self, action: Callable[[Client], object]) -> None:
        try:
            self._store.patiently(action)
        except Unavailable:
            self._counts.add("blocks", "not removed")
