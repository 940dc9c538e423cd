"""The longest stored chain of a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reame_diskkv.block_file import Block
from reame_diskkv.chain import TOKEN_BYTES, child_key, common_tokens
from reame_diskkv.index import Entry, Index


@dataclass(frozen=True, slots=True)
class Step:
    """A stored block of which the first ``take`` tokens are those of the prompt."""

    block: Block
    take: int
    raw_bytes: int
    file_bytes: int

    @property
    def end(self) -> int:
        """Position behind what is taken."""
        return self.block.start + self.take

    @property
    def whole(self) -> bool:
        return self.end == self.block.end


class Prompt:
    """A prompt cut into blocks. ``encoded`` holds its tokens as ``chain.encode`` makes them."""

    def __init__(self, root: bytes, encoded: bytes, block_tokens: int) -> None:
        self.root = root
        self.encoded = encoded
        self.length = len(encoded) // TOKEN_BYTES
        self.block_tokens = block_tokens
        self._parents = [root]

    def tokens(self, start: int, end: int) -> bytes:
        return self.encoded[start * TOKEN_BYTES : end * TOKEN_BYTES]

    def parent_of(self, start: int) -> bytes:
        """The parent's key of the block at ``start``."""
        while len(self._parents) <= start // self.block_tokens:
            end = len(self._parents) * self.block_tokens
            tokens = self.tokens(end - self.block_tokens, end)
            self._parents.append(child_key(self._parents[-1], tokens))
        return self._parents[start // self.block_tokens]

    def blocks(self, start: int, end: int) -> Sequence[Block]:
        """The whole blocks between two multiples of the block size, and what is left of the last one."""
        found = []
        while start < end:
            stop = min(start + self.block_tokens, end)
            found.append(Block(self.root, self.parent_of(start), start, self.tokens(start, stop)))
            start = stop
        return found


def longest_chain(index: Index, prompt: Prompt, start: int, limit: int) -> list[Step]:
    """Stored blocks for ``prompt`` from the block boundary ``start`` on, up to position ``limit``."""
    steps: list[Step] = []
    size = prompt.block_tokens
    while start < limit:
        parent = prompt.parent_of(start)
        wanted = prompt.tokens(start, min(start + size, prompt.length))
        step = _best(index, parent, wanted, limit - start)
        if step is None:
            break
        steps.append(step)
        if step.take < size:
            break
        start += size
    return steps


def _best(index: Index, parent: bytes, wanted: bytes, most: int) -> Step | None:
    entry = nearest(index, parent, wanted)
    if entry is None:
        return None
    take = min(common_tokens(entry.block.tokens, wanted), most)
    return Step(entry.block, take, entry.raw_bytes, entry.file_bytes) if take else None


def nearest(index: Index, parent: bytes, wanted: bytes) -> Entry | None:
    """The block behind ``parent`` that has most tokens in common with ``wanted``: in the order of tokens that
    is one of the two neighbours."""
    after = index.after(parent, wanted)
    if after is not None and after.block.tokens.startswith(wanted):
        return after
    neighbours = [entry for entry in (index.before(parent, wanted), after) if entry is not None]
    return max(neighbours, key=lambda entry: common_tokens(entry.block.tokens, wanted), default=None)
