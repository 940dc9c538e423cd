"""The plugins as the manager starts them: they find each other, and all layers at once say what the plain path
says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from reame_arca.plugin import Arca
from reame_diskkv.plugin import DiskKV
from reame_palimpsest.archive_plugin import ArchivePlugin

from plugins.reame_arca.tests.real_store import PATIENCE, RealStore, wait_until
from plugins.reame_diskkv.tests.far import AlwaysWorth
from plugins.reame_palimpsest.tests.support import accepted
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.plugins.api import PluginContext
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager
from reame_core.testing import FakeBackend
from tests.engine.support import greedy, plain, play, words

ASKED = greedy(words(100), 24)


class Everything:
    """A server with all plugins that share."""

    def __init__(self, folder: Path, url: str, names: tuple[str, ...], **arca: Any) -> None:
        self.arca, self.diskkv, self.palimpsest = Arca(), DiskKV(), ArchivePlugin()
        plugins = {"arca": self.arca, "diskkv": self.diskkv, "palimpsest": self.palimpsest}
        chosen = [(name, plugins[name]) for name in names]
        self.manager = PluginManager(builtins=(*chosen, *BUILT_IN_PLUGINS), entry_points=[])
        backend = FakeBackend(cells=1024)
        tables: dict[str, dict[str, object]] = {
            "arca": {"url": url, "timeout_ms": 5000, **arca},
            "diskkv": {"folder": str(folder / "blocks"), "block_tokens": 16, "min_tokens": 4},
            "palimpsest": {"folder": str(folder / "archive")},
        }

        def context(name: str) -> PluginContext:
            options = tables.get(name, {})
            return PluginContext(backend.info, options, {"model": "fake"}, "fake", backend.piece)

        self.manager.startup(context)
        if self.diskkv.service is not None:
            cache = self.diskkv.service.cache
            self.diskkv.service.fetcher.prices = AlwaysWorth(lambda: cache.prices)
        options = EngineOptions(context_length=256, price_drafts=False)
        self.engine = Engine(backend, options, self.manager.engine_hooks())

    def ask(self, request: Any) -> Any:
        [[answer]] = play(self.engine, request)
        if self.diskkv.service is not None:
            assert self.diskkv.service.flush(PATIENCE)
        service = self.arca.service
        if service is not None and service.blocks is not None:
            assert service.blocks.flush(PATIENCE)
        if self.palimpsest._service is not None:
            assert self.palimpsest._service.archive.flush()
        return answer

    def metric(self, name: str, outcome: str) -> float:
        [found] = [each for each in self.arca.metrics() or () if each.name == name]
        return next(sample.value for sample in found.samples if outcome in sample.labels.values())


@contextmanager
def everything(
    folder: Path, url: str, names: tuple[str, ...] = ("arca", "diskkv", "palimpsest"), **arca: Any
) -> Iterator[Everything]:
    made = Everything(folder, url, names, **arca)
    try:
        yield made
    finally:
        made.manager.shutdown()
        assert not any(made.manager.error_counts().values())


ORDERS = [("arca", "diskkv", "palimpsest"), ("palimpsest", "diskkv", "arca")]


@pytest.mark.parametrize("names", ORDERS, ids=["first", "last"])
def test_all_layers_at_once(tmp_path: Path, store: RealStore, names: tuple[str, ...]) -> None:
    with (
        everything(tmp_path / "a", store.url, names) as one,
        everything(tmp_path / "b", store.url, names) as two,
    ):
        assert one.ask(ASKED).said == plain(ASKED)[0]
        wait_until(lambda: two.metric("generations", "archived") == 1)
        answer = two.ask(ASKED)
        assert answer.said == plain(ASKED)[0]
        assert answer.usage.reused == {"diskkv": 99}
        assert accepted(answer) > 15
        assert two.metric("blocks", "fetched") == 7
        assert one.metric("blocks", "published") == 8


@pytest.mark.parametrize("names", [("arca",), ("diskkv", "palimpsest"), ("arca", "palimpsest")])
def test_without_one_another(tmp_path: Path, store: RealStore, names: tuple[str, ...]) -> None:
    with everything(tmp_path / "a", store.url, names) as one:
        assert one.ask(ASKED).said == plain(ASKED)[0]


def test_layers_that_are_switched_off(tmp_path: Path, store: RealStore) -> None:
    with everything(tmp_path / "a", store.url, blocks=False, generations=False) as one:
        assert one.ask(ASKED).said == plain(ASKED)[0]
        assert {each.name for each in one.arca.metrics() or ()}.isdisjoint({"blocks", "generations"})
    assert store.names() == []
