"""A tier behind the disk, which another plugin brings: what it is asked for, and how it gets here.

from reame_diskkv.tiers import NearTier

@hookimpl
def startup(self, context):
    context.offers.take(NearTier, lambda near: near.attach(my_far_tier))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from reame_diskkv.block_file import Block
from reame_diskkv.codec import Bytes

if TYPE_CHECKING:
    from reame_core.engine.request import Request


@dataclass(frozen=True, slots=True)
class Link:
    """A place in a chain of blocks, and what a prompt has there."""

    root: bytes
    """Stands for the model and its build, the tenant and the size of blocks: other roots, other blocks."""
    parent: bytes
    """The key of the block before it; the root at the beginning."""
    start: int
    """Position of its first token."""
    tokens: bytes
    """As ``chain.encode`` makes them: of a whole block, or fewer at the end of a prompt."""


@dataclass(frozen=True, slots=True)
class FarBlock:
    """A block that a far tier says it has."""

    link: Link
    key: bytes
    take: int
    """How many tokens of the link it has, as far as that is known; it may have others behind them."""
    size: int
    """Bytes of its file."""

    @property
    def end(self) -> int:
        """Position behind what is taken of it."""
        return self.link.start + self.take


class FarTier(Protocol):
    """What another plugin brings. Nothing may raise; whatever it gives is checked before it is used."""

    @property
    def available(self) -> bool:
        """Whether it is worth asking now. The engine's thread asks."""
        ...

    @property
    def patience_s(self) -> float:
        """How long the beginning of a prompt may wait to hear whether there is anything."""
        ...

    def wanted_by(self, request: Request) -> bool:
        """Whether a request may use this tier, and its blocks come here. The engine's thread asks."""
        ...

    def find(self, links: Sequence[Link]) -> Sequence[FarBlock]:
        """The longest chain that there is of these consecutive links, from the first one on; only the last
        block may have less than its whole link. On a thread of the near tier, which may wait."""
        ...

    def fetch(self, block: FarBlock, go_on: Callable[[], bool]) -> Bytes | None:
        """The file of a block; None where it cannot be had, or where ``go_on`` says no. On a thread of the near
        tier, which may wait."""
        ...

    def discard(self, block: FarBlock) -> None:
        """What was given for this block is not it. On a thread of the near tier."""
        ...

    def offer(self, block: Block, parts: Sequence[Bytes]) -> None:
        """The file of a block that has just been computed and written. Its parts are to be kept as long as it
        likes: nobody changes them. Must not block: this is the writer's thread."""
        ...


class NearTier:
    """What diskkv offers to other plugins: the place to attach a tier behind it. One at a time."""

    def __init__(self) -> None:
        self.far: FarTier | None = None

    def attach(self, far: FarTier) -> None:
        """From now on ``far`` is asked for what the disk does not have, and offered what is written."""
        self.far = far

    def detach(self) -> None:
        """No more. What is under way may still ask."""
        self.far = None

    def wanted_by(self, request: Request) -> bool:
        """Whether there is a far tier for this request."""
        return self.far is not None and self.far.wanted_by(request)

    def offer(self, block: Block, parts: Sequence[Bytes]) -> None:
        """A block was written here; ``parts`` are its file."""
        if (far := self.far) is not None:
            far.offer(block, parts)
