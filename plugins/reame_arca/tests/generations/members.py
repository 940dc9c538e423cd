"""Servers with an archive each, and one store between them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from reame_arca.breaker import CircuitBreaker
from reame_arca.generations.following import Follower
from reame_arca.generations.layer import Generations
from reame_arca.options import Options
from reame_arca.sealing import Space
from reame_arca.store import Store
from reame_palimpsest.archive_plugin import ArchivePlugin

from plugins.reame_arca.tests.real_store import PATIENCE, wait_until
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.request import Request
from reame_core.plugins.api import PluginContext
from reame_core.testing import FakeBackend
from tests.engine.support import Answer, engine_on, hook, play


class Member:
    """One server."""

    def __init__(
        self, folder: Path, url: str, arca: dict[str, Any], *, tokenizer: str = "fake", model: str = "fake"
    ) -> None:
        self.options = Options(url=url, **{"timeout_ms": 5000, "patience_ms": 5000, **arca})
        self.store = Store.at(self.options)
        self.store.breaker = CircuitBreaker(monotonic, pause_s=0.02)
        secret = self.options.read_secret()
        self.generations = Generations(
            self.options,
            self.store,
            lambda layer, tenant, scope: Space(self.options.prefix, layer, scope, tenant, secret),
        )
        self.plugin = ArchivePlugin()
        context = PluginContext(FakeBackend().info, {"folder": str(folder)}, {"model": model}, tokenizer)
        self.generations.attach_to(context.offers)
        self.plugin.startup(context)
        self._hooks = EngineHooks(
            on_prefill=hook(self.plugin.on_prefill),
            propose_draft=hook(self.plugin.propose_draft, name="palimpsest"),
            persist=hook(self.plugin.persist),
        )

    @property
    def follower(self) -> Follower:
        assert self.generations.follower is not None
        return self.generations.follower

    def count(self, outcome: str) -> int:
        return int(self.store.counts.get("generations", outcome))

    def ask(self, request: Request) -> Answer:
        """An answer; when this returns it is archived and published."""
        tenant = request.tenant
        self.flush()
        assert self.plugin._service is not None
        self.plugin._service.archive.view(tenant)
        self.flush()
        [[answer]] = play(engine_on(hooks=self._hooks), request)
        self.flush()
        assert self.store.flush(PATIENCE)
        return answer

    def flush(self) -> None:
        service = self.plugin._service
        assert service is not None
        assert service.archive.flush()

    @property
    def held(self) -> int:
        service = self.plugin._service
        assert service is not None
        return service.archive.sizes().generations

    def holds(self, count: int) -> None:
        """Wait until it has so many generations."""
        wait_until(lambda: self.held >= count)
        self.flush()
        assert self.held == count

    def close(self) -> None:
        # As the plugin manager does it: who was started first is shut down last.
        self.plugin.shutdown()
        self.generations.close()
        self.store.close(1.0)


@contextmanager
def member(folder: Path, url: str, arca: dict[str, Any] | None = None, **arguments: Any) -> Iterator[Member]:
    """``arca`` are options of the plugin."""
    made = Member(folder, url, arca or {}, **arguments)
    try:
        yield made
    finally:
        made.close()
