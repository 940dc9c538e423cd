"""How another plugin takes finished answers from this server's archive to others', and theirs into this one.

    from reame_palimpsest.sharing import SharedArchive

    @hookimpl
    def startup(self, context):
        context.offers.take(SharedArchive, self.share)

Tenants go by the name of their folder, a hash: whoever carries answers about need not know who said them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reame_palimpsest.archive import Archive
from reame_palimpsest.folders import is_digest
from reame_palimpsest.frames import decode, encode
from reame_palimpsest.generations import Generation, content_id
from reame_palimpsest.pursuit import Pursuits

if TYPE_CHECKING:
    from reame_core.engine.request import Request

log = logging.getLogger("reame.palimpsest")

Listener = Callable[["SharedGeneration"], None]


@dataclass(frozen=True, slots=True)
class SharedGeneration:
    """A finished answer on its way between servers."""

    tenant: str
    """32 hexadecimal digits: a hash of the tenant's name, the same on all servers."""
    content: str
    """32 hexadecimal digits: equal for equal generations, wherever they were made."""
    data: bytes
    """The end of the prompt and the answer, with a checksum; see ``frames``."""


class SharedArchive:
    """What the plugin offers to others, while it runs."""

    def __init__(self, archive: Archive, pursuits: Pursuits, tokenizer: str, vocabulary: int) -> None:
        self.tokenizer = tokenizer
        """32 hexadecimal digits. Generations of other tokenizers are of no use here."""
        self.folder = archive.folder
        """Where generations of this tokenizer lie; a place for notes on how far they have been shared, which go
        when the archive goes."""
        self._archive = archive
        self._pursuits = pursuits
        self._vocabulary = vocabulary

    @property
    def closed(self) -> bool:
        """Whether the archive is closed: nothing can be added any more."""
        return self._archive.closed

    def follow(self, listener: Listener, wants: Callable[[Request], bool] = lambda request: True) -> None:
        """Have ``listener`` told of each answer that is archived here, on the archive's thread: it must not
        block. Answers that came from elsewhere are not told, nor those of requests that ``wants`` refuses, on
        the engine's thread."""
        self._pursuits.shares = wants

        def tell(tenant: str, generation: Generation) -> None:
            listener(SharedGeneration(tenant, content_id(generation).hex(), encode(generation)))

        self._archive.listener = tell

    def unfollow(self) -> None:
        """Nobody is told any more."""
        self._archive.listener = None

    def add(self, shared: Sequence[SharedGeneration], timeout: float) -> int | None:
        """Archive what others have made; how many of these were new, None where that has not come to an end
        within ``timeout`` seconds: then some may be there, and adding all of them again does no harm. Those
        that are damaged, or cannot be of this tokenizer, are left out. For any thread but the engine's."""
        found: dict[str, list[Generation]] = {}
        for each in shared:
            generation = self._checked(each)
            if generation is not None:
                found.setdefault(each.tenant, []).append(generation)
        return self._archive.add(found, timeout)

    def _checked(self, shared: SharedGeneration) -> Generation | None:
        decoded = decode(shared.data, final=True)
        if len(decoded.generations) != 1 or decoded.damaged or not is_digest(shared.tenant):
            return None
        [generation] = decoded.generations
        if content_id(generation).hex() != shared.content or generation.tokens.max() >= self._vocabulary:
            return None
        return generation
