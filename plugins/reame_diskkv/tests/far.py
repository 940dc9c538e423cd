"""A far tier in memory, and servers that share it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reame_diskkv.block_file import Block
from reame_diskkv.chain import child_key, common_tokens
from reame_diskkv.codec import Bytes
from reame_diskkv.prices import FarPrices
from reame_diskkv.tiers import FarBlock, Link

from plugins.reame_diskkv.tests.driver import BLOCK, Server
from reame_core.engine.request import Request

PATIENCE = 20.0


class Cupboard:
    """Keeps the files of blocks. ``spoil`` may change what is given, ``gate`` holds whoever asks or fetches."""

    patience_s = PATIENCE

    def __init__(self) -> None:
        self.files: dict[bytes, tuple[Block, bytes]] = {}
        self.available = True
        self.spoil: Callable[[bytes], Bytes | None] = lambda data: data
        self.gate = threading.Event()
        self.gate.set()
        self.found: list[int] = []
        """How many blocks each question found."""
        self.fetched: list[bytes] = []
        self.discarded: list[bytes] = []
        self.threads: set[str] = set()

    def wanted_by(self, request: Request) -> bool:
        return request.extra.get("far") is not False

    def find(self, links: Sequence[Link]) -> Sequence[FarBlock]:
        self._enter()
        found: list[FarBlock] = []
        for link in links:
            best = self._best(link)
            if best is None:
                break
            found.append(best)
            if best.take < BLOCK:
                break
        self.found.append(len(found))
        return found

    def _best(self, link: Link) -> FarBlock | None:
        near = [block for block, _ in self.files.values() if block.parent == link.parent]
        best = max(near, key=lambda block: common_tokens(block.tokens, link.tokens), default=None)
        take = common_tokens(best.tokens, link.tokens) if best is not None else 0
        if best is None or not take:
            return None
        return FarBlock(link, child_key(best.parent, best.tokens), take, len(self.files[best.key][1]))

    def fetch(self, block: FarBlock, go_on: Callable[[], bool]) -> Bytes | None:
        self._enter()
        self.fetched.append(block.key)
        held = self.files.get(block.key)
        return self.spoil(held[1]) if held is not None and go_on() else None

    def discard(self, block: FarBlock) -> None:
        self._enter()
        self.discarded.append(block.key)
        self.files.pop(block.key, None)

    def offer(self, block: Block, parts: Sequence[Bytes]) -> None:
        self.files[block.key] = block, b"".join(parts)

    def _enter(self) -> None:
        self.threads.add(threading.current_thread().name.rpartition("_")[0])
        assert self.gate.wait(PATIENCE)


class AlwaysWorth(FarPrices):
    """The fake backend computes faster than anything could be fetched."""

    def worth_asking(self, tokens: int, patience_s: float) -> bool:
        return True

    def _pays(self, tokens: int, chain: Sequence[FarBlock]) -> bool:
        return True


def wait_until(condition: Callable[[], bool]) -> None:
    """Until it holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.001)


@contextmanager
def connected(folder: Path, far: Cupboard, *, measured: bool = False, **arguments: Any) -> Iterator[Server]:
    """A server whose disk cache has ``far`` behind it."""
    server = Server(folder, **arguments)
    fetcher = server.service.fetcher
    fetcher._near.attach(far)
    if not measured:
        fetcher.prices = AlwaysWorth(lambda: server.service.cache.prices)
    try:
        yield server
    finally:
        server.close()
