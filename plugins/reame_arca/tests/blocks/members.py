"""Engines on the fake backend with a disk cache each, and one store behind them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from reame_arca.blocks.layer import Blocks
from reame_arca.breaker import CircuitBreaker
from reame_arca.counts import Counts
from reame_arca.options import Options
from reame_arca.sealing import Space
from reame_arca.store import Store

from plugins.reame_arca.tests.real_store import PATIENCE
from plugins.reame_diskkv.tests.driver import Answer, Server
from plugins.reame_diskkv.tests.far import AlwaysWorth
from reame_core.plugins.offers import Offers


class Member:
    """One server. ``ask`` returns when what it left is on its disk and in the store."""

    def __init__(
        self, folder: Path, url: str, arca: dict[str, Any], *, measured: bool = False, **arguments: Any
    ) -> None:
        # On a busy machine an answer may take longer than any limit one would set.
        self.options = Options(url=url, **{"timeout_ms": 5000, "patience_ms": 5000, **arca})
        self.store = Store.at(self.options)
        self.store.breaker = CircuitBreaker(monotonic, pause_s=0.02)
        secret = self.options.read_secret()
        self.blocks = Blocks(
            self.options,
            self.store,
            lambda layer, tenant: Space(self.options.prefix, layer, {}, tenant, secret),
        )
        self.server = Server(folder, measured_prices=measured, **arguments)
        fetcher = self.server.service.fetcher
        if not measured:
            fetcher.prices = AlwaysWorth(lambda: self.server.service.cache.prices)
        offers = Offers()
        offers.make(fetcher._near)
        self.blocks.attach_to(offers)

    @property
    def counts(self) -> Counts:
        return self.store.counts

    def ask(self, prompt: tuple[int, ...], max_tokens: int = 8, **fields: Any) -> Answer:
        answer = self.server.ask(prompt, max_tokens, **fields)
        assert self.blocks.flush(PATIENCE)
        return answer

    def close(self) -> None:
        self.server.close()
        self.blocks.close()
        self.store.close(0.2)


@contextmanager
def member(folder: Path, url: str, arca: dict[str, Any] | None = None, **arguments: Any) -> Iterator[Member]:
    """``arca`` are options of the plugin, ``arguments`` those of the disk cache's ``Server``."""
    made = Member(folder, url, arca or {}, **arguments)
    try:
        yield made
    finally:
        made.close()
