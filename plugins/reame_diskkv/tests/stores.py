"""Stores without an engine: chains of tiny blocks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from reame_diskkv.block_file import Block
from reame_diskkv.chain import encode, root_key
from reame_diskkv.counts import Counts
from reame_diskkv.folder import BlockFolder
from reame_diskkv.index import Index
from reame_diskkv.lookup import Prompt, Step, longest_chain
from reame_diskkv.reading import BlockReader
from reame_diskkv.room import Limits
from reame_diskkv.store import Store

SIZE = 4
ROOT = root_key({"model": "tiny"}, "", SIZE)


class Clock:
    """Wall clock and monotonic clock that move when told to."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def prompt(tokens: Sequence[int]) -> Prompt:
    return Prompt(ROOT, encode(np.array(tokens, np.int32)), SIZE)


def chain(tokens: Sequence[int]) -> Sequence[Block]:
    """The blocks of a prompt."""
    return prompt(tokens).blocks(0, len(tokens))


def state_of(block: Block, size: int = 200) -> bytes:
    """What the cells of a block are in these tests."""
    return (block.key * (size // len(block.key) + 1))[:size]


class TestStore:
    """A store whose clocks are fake, and what it warned of."""

    __test__ = False

    def __init__(
        self, path: Path, max_bytes: int = 10**9, *, ttl: float | None = None, **arguments: Any
    ) -> None:
        self.warnings: list[str] = []
        self.wall = Clock()
        self.clock = Clock(0.0)
        self.counts = Counts()
        self.folder = arguments.pop("folder", None) or BlockFolder(path)
        self.path = path
        self.store = Store(
            self.folder,
            Limits(max_bytes, ttl),
            self.counts,
            self.warnings.append,
            wall=self.wall,
            clock=self.clock,
            **arguments,
        )

    def put(self, tokens: Sequence[int], size: int = 200) -> bool:
        """Store a prompt; whether all of it is there now."""
        stored = [self.store.put(block, state_of(block, size)) for block in chain(tokens)]
        return all(stored)

    def set_limit(self, max_bytes: int) -> None:
        self.store.room.limits = Limits(max_bytes)

    def found(self, tokens: Sequence[int]) -> int:
        """How many tokens of a prompt are stored and can be read."""
        index = Index(self.path, read_only=True)
        try:
            steps = longest_chain(index, prompt(tokens), 0, len(tokens))
        finally:
            index.close()
        for step in steps:
            if not self.readable(step):
                return step.block.start
        return steps[-1].end if steps else 0

    def readable(self, step: Step) -> bool:
        try:
            _, state = BlockReader(self.folder).read(step.block.key, step.block)
        except FileNotFoundError:
            return False
        assert state == state_of(step.block, len(state))
        return True

    def use(self, tokens: Sequence[int]) -> None:
        """The end of a prompt was read now."""
        self.store.used({chain(tokens)[-1].key: self.store.stamp()})

    def sweep(self) -> None:
        while self.store.sweep_step():
            pass

    @property
    def files(self) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in (self.path / "blocks").glob("*/*")}

    @property
    def disk_usage(self) -> int:
        """Everything in the folder."""
        return sum(each.stat().st_size for each in self.path.rglob("*") if each.is_file())

    def check(self) -> int:
        """Bytes of all blocks as the index says, which must be what the files say."""
        index = Index(self.path, read_only=True)
        total = index.total()
        index.close()
        assert total.file_bytes == sum(self.files.values())
        assert total.blocks == len(self.files)
        return total.file_bytes

    def close(self) -> None:
        self.store.close()
        self.folder.close()
