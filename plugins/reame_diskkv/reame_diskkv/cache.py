"""The cache of one loaded model: what its engine's thread looks up, restores and hands over for writing."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

from reame_diskkv.block_file import Block, DamagedBlock
from reame_diskkv.chain import root_key
from reame_diskkv.counts import Counts
from reame_diskkv.index import Index, IndexBroken, IndexUnusable
from reame_diskkv.lookup import Prompt, Step, longest_chain
from reame_diskkv.prices import Prices
from reame_diskkv.reading import ReadingAhead
from reame_diskkv.store import Store
from reame_diskkv.writer import Writer

Answer = TypeVar("Answer")

_PATIENCE_SECONDS = 0.05
"""How long the engine's thread waits for an index that is locked."""

_MOST_RESERVED = 64 << 20
"""Bytes. Numbers in an index may be wrong."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the blocks are made of."""

    model: str
    """Its name, for people."""
    namespace: Mapping[str, str]
    block_tokens: int

    def description(self, tenant: str) -> dict[str, object]:
        """What a root of these chains is said to be. Nobody's name is written down."""
        return {
            "model": self.model,
            "namespace": dict(self.namespace),
            "block_tokens": self.block_tokens,
            "shared": not tenant,
        }


class Cache:
    """For the engine's thread. Nothing here raises on account of the disk: what cannot be read is a miss."""

    def __init__(self, shape: Shape, store: Store, writer: Writer, counts: Counts, threads: int) -> None:
        """``threads`` is how many may compute here."""
        self.shape = shape
        self.store = store
        self.writer = writer
        self.counts = counts
        self.prices = Prices()
        self._reading = ReadingAhead(store.folder, threads)
        self._index: Index | None = None
        self._generation = -1
        self._roots: dict[str, bytes] = {}
        self.is_coming: Callable[[bytes], bool] = lambda key: False
        """Whether somebody else than the writer is about to write the block of a key."""
        self._removed: set[bytes] = set()
        """Keys that the index may still list until the writer gets to it."""

    def close(self) -> None:
        self._reading.close()
        self._close_index()

    def _close_index(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def prepare(self) -> None:
        """Do now what the first prompt would wait for."""
        root = root_key(self.shape.namespace, "", self.shape.block_tokens)
        entry = self.ask(lambda index: index.after(root, b""))
        if entry is not None:
            self._reading.reserve(min(entry.raw_bytes, _MOST_RESERVED))

    def root(self, tenant: str) -> bytes:
        """The root of all chains of a tenant."""
        if tenant not in self._roots:
            if len(self._roots) > 1000:
                self._roots.clear()
            root = root_key(self.shape.namespace, tenant, self.shape.block_tokens)
            self._roots[tenant] = root
            description = self.shape.description(tenant)
            self.writer.do(lambda store: store.describe(root, description))
        return self._roots[tenant]

    def prompt(self, tenant: str, encoded: bytes) -> Prompt:
        return Prompt(self.root(tenant), encoded, self.shape.block_tokens)

    # Looking up

    def find(self, prompt: Prompt, start: int, limit: int) -> list[Step]:
        """The stored chain from the block boundary ``start`` on, up to position ``limit``."""
        found = self.ask(lambda index: longest_chain(index, prompt, start, limit))
        return found or []

    def missing(self, blocks: Sequence[Block]) -> list[Block]:
        """Those that are neither stored nor about to be. All of them where nobody knows."""
        unknown = [
            block for block in blocks if not (self.writer.is_pending(block.key) or self.is_coming(block.key))
        ]
        found = self.ask(lambda index: [block for block in unknown if not self._covered(index, block)])
        return unknown if found is None else found

    def _covered(self, index: Index, block: Block) -> bool:
        entry = index.covering(block.parent, block.tokens)
        return entry is not None and entry.key not in self._removed

    def write(self, block: Block, state: bytes, *, shared: bool = False) -> None:
        """Hand a block to the writer, which lets a far tier have it where it may be ``shared``."""
        self._removed.discard(block.key)
        self.writer.write(block, state, shared=shared)

    def ask(self, question: Callable[[Index], Answer]) -> Answer | None:
        """The answer of the index; None where it cannot be asked."""
        try:
            return question(self._opened())
        except IndexUnusable:
            self.counts.failures["index"] += 1
        except IndexBroken:
            self._close_index()
            # The writer meets the same trouble at its next step, and makes the index anew.
            self.writer.do(lambda store: store.examine())
        return None

    def _opened(self) -> Index:
        if self._index is None or self._generation != self.store.generation:
            self._close_index()
            generation = self.store.generation
            self._index = Index(self.store.folder.path, read_only=True, patience=_PATIENCE_SECONDS)
            self._generation = generation
        return self._index

    # Restoring

    def states(self, steps: Sequence[Step]) -> Generator[memoryview | None, None, None]:
        """The verified cells of one block after the other, each valid until the next one is asked for. To be
        closed. None at the end where a block is damaged, which is removed then."""
        with closing(self._reading.results([step.block for step in steps])) as results:
            for step, result in zip(steps, results, strict=True):
                state = self._state(step.block.key, result)
                yield state
                if state is None:
                    return

    def _state(self, key: bytes, result: Future[tuple[Block, memoryview]]) -> memoryview | None:
        try:
            return result.result()[1]
        except FileNotFoundError:
            self.discard(key)
        except DamagedBlock:
            self.counts.failures["damaged"] += 1
            self.discard(key)
        except OSError:
            self.counts.failures["read"] += 1
        return None

    def discard(self, key: bytes) -> None:
        """Remove a block that turned out to be unusable."""
        try:
            self.store.folder.remove(key)
        except OSError:
            self.counts.failures["read"] += 1
        self._removed.add(key)
        self.writer.do(lambda store: store.discard([key]))

    def used(self, step: Step) -> None:
        """``step`` was the end of what a prompt found."""
        self.writer.used(step.block.key)
