"""The layer in a running server: attached to the disk cache where there is one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from reame_arca.blocks.ledger import Ledger
from reame_core.plugins.api import Metric

if TYPE_CHECKING:
    from reame_diskkv.tiers import NearTier

    from reame_arca.blocks.far import SharedBlocks
    from reame_arca.blocks.publishing import Publisher
    from reame_arca.options import Options
    from reame_arca.sealing import Space
    from reame_arca.store import Store
    from reame_core.plugins.api import Offers

log = logging.getLogger("reame.plugins.arca")

LAYER = "blocks"
_DAY = 86_400.0
_PATIENCE_AT_END = 2.0
_OUTCOMES = (
    "published",
    "known",
    "too large",
    "dropped",
    "not tried",
    "not written",
    "made room",
    "fetched",
    "not fetched",
    "wrong or gone",
)


class Blocks:
    """Nothing happens before a disk cache is taken. ``space`` makes the space of a layer and a tenant."""

    def __init__(self, options: Options, store: Store, space: Callable[[str, str], Space]) -> None:
        self._options = options
        self._store = store
        self._space = space
        self._near: NearTier | None = None
        self.publisher: Publisher | None = None
        self.far: SharedBlocks | None = None

    def attach_to(self, offers: Offers) -> None:
        """Share the blocks of the disk cache of this engine, if there is one."""
        try:
            from reame_diskkv.tiers import NearTier
        except ImportError:
            log.info("no KV cells are shared: that needs the plugin diskkv (pip install reame-diskkv)")
            return
        offers.take(NearTier, self._attach)

    def _attach(self, near: NearTier) -> None:
        from reame_arca.blocks.far import Names, SharedBlocks
        from reame_arca.blocks.publishing import Publisher

        options = self._options
        # A root stands for the model, its build and settings, and the tenant.
        names = Names(lambda root: self._space(LAYER, root.hex()))
        ttl = options.blocks_ttl_days * _DAY
        limit = int(options.blocks_max_mb * 1e6)

        def ledger() -> Ledger:
            return Ledger(options.prefix, int(options.blocks_total_mb * 1e6), ttl)

        self.publisher = Publisher(
            self._store,
            names,
            ledger,
            self._store.counts,
            limit=limit,
            queue_bytes=int(options.queue_mb * 1e6),
            ttl_s=ttl,
        )
        self.far = SharedBlocks(
            self._store,
            names,
            self.publisher,
            ledger,
            self._store.counts,
            limit=limit,
            ttl_s=ttl,
        )
        self._near = near
        near.attach(self.far)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until what was offered is in the store or given up; whether it is."""
        return self.publisher is None or self.publisher.flush(timeout)

    def close(self) -> None:
        """Publish what waits."""
        if self._near is not None:
            self._near.detach()
        if self.publisher is not None:
            self.publisher.close(_PATIENCE_AT_END)

    def metrics(self) -> list[Metric]:
        """What became of blocks; nothing without a disk cache."""
        if self.far is None:
            return []
        counts = self._store.counts
        return [
            counts.metric("blocks", "Blocks of KV cells by what became of them.", "outcome", _OUTCOMES),
            counts.metric(
                "block_bytes", "Bytes of blocks that were shared.", "direction", ("published", "fetched")
            ),
            counts.metric("block_lookups", "Prompts that were looked for.", "outcome", ("found", "not found")),
        ]
