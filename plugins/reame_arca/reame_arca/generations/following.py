"""From the stream into the archive, on a thread of the lowest priority.

The position moves when a batch is archived, not before: whoever is killed in between reads it again, and the
archive knows each generation by its contents.
"""

from __future__ import annotations

import logging
import re
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from reame_arca.background import be_nice
from reame_arca.generations.messages import FIELD, LARGEST_VALUE, from_message
from reame_arca.store import Unavailable
from reame_arca.stream import read_page

if TYPE_CHECKING:
    from reame_palimpsest.sharing import SharedArchive, SharedGeneration

    from reame_arca.connection import Client
    from reame_arca.counts import Counts
    from reame_arca.generations.position import Position
    from reame_arca.sealing import Space
    from reame_arca.store import Store

log = logging.getLogger("reame.plugins.arca")

BATCH = 64
_PAUSE_S = 1.0
"""After something went wrong."""
_NO_NEWS_S = 0.25
"""Between two looks at a stream that has nothing new."""
_SHARE = 0.2
"""Of one core, at most, is spent on catching up."""
_IDENTITY_AGAIN_S = 15.0
_ARCHIVE_PATIENCE_S = 10.0
_ATTEMPTS = 3
_IDENTITY = re.compile(rb"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Stream:
    """Where the generations of one tokenizer are, and what they are sealed with."""

    name: str
    space: Space
    ttl_s: float

    @property
    def identity_name(self) -> str:
        """Of a random value that is gone when the store has lost everything."""
        return f"{self.name}:identity"


class Follower:
    """``start`` begins to follow."""

    def __init__(
        self,
        store: Store,
        stream: Stream,
        archive: SharedArchive,
        position: Position,
        counts: Counts,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._store = store
        self._stream = stream
        self._archive = archive
        self._position = position
        self._counts = counts
        self._clock = clock
        self._closing = threading.Event()
        self._identity: str | None = None
        self._identified = 0.0
        self._thread = threading.Thread(target=self._run, name="reame-arca-follow", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self, timeout: float) -> None:
        """Stop after the batch under way."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        be_nice()
        mine = False
        try:
            while not (self._closing.is_set() or self._archive.closed):
                try:
                    mine = mine or self._position.load()
                    pause = self._step() if mine else _PAUSE_S
                except Unavailable:
                    self._identity, pause = None, _PAUSE_S
                except OSError as error:
                    log.warning("the generations of others are not followed for now: %s", error)
                    pause = 30 * _PAUSE_S
                except Exception:
                    log.exception("following the generations of others has failed; it is tried again")
                    pause = 30 * _PAUSE_S
                if pause:
                    self._closing.wait(pause)
        finally:
            self._position.close()

    def _step(self) -> float:
        """Follow one batch; how many seconds to wait before the next. Raises Unavailable and OSError."""
        started = self._clock()
        identity = self._identified_store(started)
        position = self._position.get(identity)
        name = self._stream.name
        page = self._store.patiently(
            lambda client: read_page(client, name, position, BATCH, FIELD, LARGEST_VALUE)
        )
        entries = page.entries
        if not entries:
            return _NO_NEWS_S
        read = self._clock()
        generations = [found for each in entries if (found := self._opened(each.value)) is not None]
        if not self._add(generations):
            return _PAUSE_S
        self._position.set(identity, entries[-1].id)
        # In between it is the users' machine.
        return (self._clock() - read) * (1 / _SHARE - 1)

    def _identified_store(self, now: float) -> str:
        if self._identity is None or now - self._identified > _IDENTITY_AGAIN_S:
            before = self._identity
            self._identity = self._store.patiently(self._ask_identity)
            self._identified = now
            if before not in (None, self._identity):
                log.info("the store has begun anew: its generations are followed from their beginning")
        return self._identity

    def _ask_identity(self, client: Client) -> str:
        name, ttl = self._stream.identity_name, int(1000 * self._stream.ttl_s)
        client.set(name, secrets.token_hex(16), nx=True)
        client.pexpire(name, ttl)
        found: Any = client.get(name)
        # Somebody else's value would make a strange file.
        if not isinstance(found, bytes) or not _IDENTITY.fullmatch(found):
            client.delete(name)
            return secrets.token_hex(16)
        return found.decode()

    def _opened(self, value: bytes) -> SharedGeneration | None:
        found = from_message(self._stream.space, self._stream.name, value)
        if found is None:
            self._counts.add("generations", "damaged")
            return None
        sender, generation = found
        if sender == self._position.server:
            self._counts.add("generations", "own")
            return None
        return generation

    def _add(self, generations: list[SharedGeneration]) -> bool:
        """Whether the archive has them now, or never will."""
        if not generations or self._added(generations):
            return True
        # One of them may be what it fails at: the others come in all the same.
        for generation in generations:
            if self._closing.is_set() or self._archive.closed:
                return False
            if not any(self._added([generation]) for _ in range(_ATTEMPTS)):
                self._counts.add("generations", "not archived")
        return True

    def _added(self, generations: list[SharedGeneration]) -> bool:
        new = self._archive.add(generations, _ARCHIVE_PATIENCE_S)
        if new is None:
            return False
        self._counts.add("generations", "archived", new)
        self._counts.add("generations", "known or foreign", len(generations) - new)
        return True
