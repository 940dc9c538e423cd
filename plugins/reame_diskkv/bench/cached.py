"""An engine with the plugin, and the time until a request's first token."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reame_diskkv.counts import Counts
from reame_diskkv.plugin import DiskKV

from bench.case import CONTEXT, Case
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.engine.events import Event, Failed, Finished, Usage
from reame_core.engine.hooks import EngineHooks, GuardedHook
from reame_core.engine.request import Request
from reame_core.plugins.api import PluginContext


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that generated one token."""

    seconds: float
    """Until that token."""
    usage: Usage


class Cached:
    """As after a restart: nothing in memory, whatever there is on disk."""

    def __init__(self, case: Case, folder: Path, **options: object) -> None:
        case.backend.clear()
        self._plugin = DiskKV()
        table = {"folder": str(folder), **options}
        namespace = {"model": case.name}
        self._plugin.startup(PluginContext(case.backend.info, table, namespace))
        hooks = EngineHooks(
            on_prefill=GuardedHook((("diskkv", self._plugin.on_prefill),)),
            persist=GuardedHook((("diskkv", self._plugin.persist),)),
        )
        self.engine = Engine(case.backend, EngineOptions(context_length=CONTEXT), hooks)

    @property
    def counts(self) -> Counts:
        assert self._plugin.service is not None
        return self._plugin.service.cache.counts

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
        """Wait for the writer."""
        assert self._plugin.service is not None
        self._plugin.service.cache.writer.flush()

    def close(self) -> None:
        self._plugin.shutdown()


@contextmanager
def cached(case: Case, folder: Path, **options: object) -> Iterator[Cached]:
    """An engine whose cache is in ``folder``."""
    made = Cached(case, folder, **options)
    try:
        yield made
    finally:
        made.close()


def drop_from_page_cache(folder: Path) -> None:
    """The blocks come from the disk again."""
    for path in (folder / "blocks").glob("*/*.kv"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bytes_on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "blocks").glob("*/*.kv"))
