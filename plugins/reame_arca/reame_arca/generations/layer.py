"""The layer in a running server: attached to the archive where there is one."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from reame_arca.wishes import wants
from reame_core.plugins.api import Metric

if TYPE_CHECKING:
    from reame_palimpsest.sharing import SharedArchive, SharedGeneration

    from reame_arca.connection import Client
    from reame_arca.generations.following import Follower, Stream
    from reame_arca.generations.position import Position
    from reame_arca.options import Options
    from reame_arca.sealing import Space
    from reame_arca.store import Store
    from reame_core.plugins.api import Offers

log = logging.getLogger("reame.plugins.arca")

LAYER = "generations"
_DAY = 86_400.0
_PATIENCE_AT_END = 12.0
_OUTCOMES = (
    "published",
    "too large",
    "not published",
    "archived",
    "known or foreign",
    "own",
    "damaged",
    "not archived",
)


class Generations:
    """Nothing happens before an archive is taken. ``space`` makes that of a layer, a tenant and a scope."""

    def __init__(
        self, options: Options, store: Store, space: Callable[[str, str, Mapping[str, str]], Space]
    ) -> None:
        self._options = options
        self._store = store
        self._space = space
        self._archive: SharedArchive | None = None
        self._stream: Stream | None = None
        self._position: Position | None = None
        self.follower: Follower | None = None

    def attach_to(self, offers: Offers) -> None:
        """Share the answers that this engine's archive keeps, if there is one."""
        try:
            from reame_palimpsest.sharing import SharedArchive
        except ImportError:
            log.info("no generations are shared: that needs palimpsest (pip install reame-palimpsest)")
            return
        offers.take(SharedArchive, self._attach)

    def _attach(self, archive: SharedArchive) -> None:
        from reame_arca.generations.following import Follower, Stream
        from reame_arca.generations.position import Position

        space = self._space(LAYER, "", {"tokenizer": archive.tokenizer})
        ttl = self._options.generations_ttl_days * _DAY
        stream = self._stream = Stream(space.name(b"generations"), space, ttl)
        self._archive = archive
        self._position = Position(archive.folder, stream.name)
        with contextlib.suppress(OSError):
            # Before anything is published in its name; the follower tells what is wrong.
            self._position.load()
        self.follower = Follower(self._store, stream, archive, self._position, self._store.counts)
        archive.follow(self._publish, lambda request: wants(request, "generations"))
        self.follower.start()

    def _publish(self, generation: SharedGeneration) -> None:
        """On the archive's thread."""
        from reame_arca.generations.messages import LARGEST, to_message

        stream, position = self._stream, self._position
        assert stream is not None
        assert position is not None
        if len(generation.data) > LARGEST:
            self._store.counts.add("generations", "too large")
            return

        def add(client: Client) -> None:
            fields = to_message(stream.space, stream.name, position.server, generation)
            with client.pipeline(transaction=False) as pipe:
                pipe.xadd(stream.name, fields, maxlen=self._options.generations_max, approximate=True)
                pipe.pexpire(stream.name, int(1000 * stream.ttl_s))
                pipe.execute()
            self._store.counts.add("generations", "published")

        if not self._store.later(len(generation.data), add):
            self._store.counts.add("generations", "not published")

    def close(self) -> None:
        """Stop following. What waits is published by the store's own ``close``."""
        if self._archive is not None:
            self._archive.unfollow()
        if self.follower is not None:
            self.follower.close(_PATIENCE_AT_END)

    def metrics(self) -> list[Metric]:
        """What became of generations; nothing without an archive."""
        if self._archive is None:
            return []
        counts = self._store.counts
        return [
            counts.metric("generations", "Generations by what became of them.", "outcome", _OUTCOMES),
        ]
