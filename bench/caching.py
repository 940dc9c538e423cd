"""An engine with a disk cache, and the time until a request's first token."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reame_diskkv.counts import Counts
from reame_diskkv.plugin import DiskKV
from reame_diskkv.service import Service

from bench.case import CONTEXT, Case
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.events import Event, Failed, Finished, Usage
from reame_core.engine.request import Request
from reame_core.plugins.api import PluginContext
from reame_core.plugins.manager import PluginManager


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that generated one token."""

    seconds: float
    """Until that token."""
    usage: Usage

    def checked(self, restored: int) -> float:
        """``seconds``; raises RuntimeError where not about so many tokens came from the disk."""
        found = self.usage.reused.get("diskkv", 0)
        if abs(found - restored) > 2:
            raise RuntimeError(f"{found} tokens were restored instead of {restored}")
        return self.seconds


class Caching:
    """As after a start: nothing in memory, on disk what ``folder`` holds. Without drafts, so that nothing but
    the cache makes a difference."""

    def __init__(
        self,
        case: Case,
        folder: Path,
        options: Mapping[str, object],
        others: Mapping[str, tuple[object, Mapping[str, object]]],
    ) -> None:
        case.backend.clear()
        self._diskkv = DiskKV()
        plugins = {**others, "diskkv": (self._diskkv, {"folder": str(folder), **options})}
        self._manager = PluginManager(
            builtins=[(name, plugin) for name, (plugin, _) in plugins.items()], entry_points=[]
        )
        info, namespace = case.backend.info, {"model": case.name}
        self._manager.startup(lambda name: PluginContext(info, plugins[name][1], namespace))
        self.engine = Engine(case.backend, EngineOptions(context_length=CONTEXT), self._manager.engine_hooks())

    @property
    def _service(self) -> Service:
        assert self._diskkv.service is not None
        return self._diskkv.service

    @property
    def counts(self) -> Counts:
        return self._service.cache.counts

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
        """Wait until what was computed is on disk."""
        self._service.flush()

    def close(self) -> None:
        self._manager.shutdown()


@contextmanager
def caching(case: Case, folder: Path, **options: object) -> Iterator[Caching]:
    """An engine whose cache is in ``folder``, with ``options`` of the plugin."""
    made = Caching(case, folder, options, {})
    try:
        yield made
    finally:
        made.close()
