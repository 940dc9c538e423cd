"""An engine with a disk cache, and with a shared store behind it where one is named."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reame_arca.plugin import Arca
from reame_diskkv.counts import Counts
from reame_diskkv.plugin import DiskKV

from bench.case import CONTEXT, Case
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.events import Event, Failed, Finished, Usage
from reame_core.engine.request import Request
from reame_core.plugins.api import PluginContext
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that generated one token."""

    seconds: float
    """Until that token."""
    usage: Usage


class Server:
    """As after a start: nothing in memory, on disk what ``folder`` holds."""

    def __init__(self, case: Case, folder: Path, url: str | None, prefix: str) -> None:
        case.backend.clear()
        self._arca, self._diskkv = Arca(), DiskKV()
        plugins = (("arca", self._arca), ("diskkv", self._diskkv), *BUILT_IN_PLUGINS)
        self._manager = PluginManager(builtins=plugins, entry_points=[])
        tables: dict[str, dict[str, object]] = {"diskkv": {"folder": str(folder)}}
        if url is not None:
            tables["arca"] = {"url": url, "prefix": prefix, "answers": False}
        namespace = {"model": case.name}
        info = case.backend.info
        self._manager.startup(lambda name: PluginContext(info, tables.get(name, {}), namespace))
        options = EngineOptions(context_length=CONTEXT)
        self.engine = Engine(case.backend, options, self._manager.engine_hooks())

    @property
    def counts(self) -> Counts:
        """Of the disk cache."""
        assert self._diskkv.service is not None
        return self._diskkv.service.cache.counts

    def shared_bytes(self, direction: str) -> float:
        """Of blocks, ``published`` or ``fetched``."""
        service = self._arca.service
        return service.store.counts.get("block_bytes", direction) if service is not None else 0.0

    def ask(self, prompt: tuple[int, ...]) -> Answered:
        """One request, alone."""
        ends: list[Event] = []
        started = time.perf_counter()
        self.engine.submit(Request(prompt=prompt, max_tokens=1, ignore_end=True), ends.extend)
        while self.engine.step():
            pass
        seconds = time.perf_counter() - started
        last = ends[-1]
        if isinstance(last, Failed):
            raise last.error
        assert isinstance(last, Finished)
        return Answered(seconds, last.usage)

    def flush(self) -> None:
        """Wait until what was computed is on disk, and in the store."""
        assert self._diskkv.service is not None
        self._diskkv.service.flush()
        if self._arca.service is not None and self._arca.service.blocks is not None:
            self._arca.service.blocks.flush()

    def close(self) -> None:
        self._manager.shutdown()


@contextmanager
def server(case: Case, folder: Path, url: str | None = None, prefix: str = "bench") -> Iterator[Server]:
    """A server whose disk cache is in ``folder``; servers with the same ``prefix`` share."""
    made = Server(case, folder, url, prefix)
    try:
        yield made
    finally:
        made.close()
