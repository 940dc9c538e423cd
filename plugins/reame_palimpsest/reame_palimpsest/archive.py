"""The archive of one server: the engine thread asks and hands over, a thread of its own touches the disk."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from reame_palimpsest.budget import keep_within
from reame_palimpsest.folders import TokenizerFolder, tenant_folder_name
from reame_palimpsest.generations import Generation, content_id
from reame_palimpsest.limits import Limits
from reame_palimpsest.shelf import Shelf
from reame_palimpsest.view import View

log = logging.getLogger("reame.palimpsest")

REFRESH_SECONDS = 5.0
"""What other processes have archived or forgotten is seen after this time."""
_TIDY_SECONDS = 3600.0
_MOST_WAITING = 256
_MOST_SHELVES = 64
"""Tenants whose archives are open at the same time."""
_PATIENCE_AT_END = 30.0
_MOST_NAMES = 4096
_MOST_REMEMBERED = 1 << 16
"""Answers of others that are recognised when they come again, beyond those that a tenant's archive finds."""

Teller = Callable[[str, Generation], None]


@dataclass(slots=True)
class Counts:
    """Since the start of this process."""

    stored: int = 0
    repeated: int = 0
    """Answers that were in the archive already."""
    dropped: int = 0
    """Answers that came faster than they could be written."""
    added: int = 0
    """Answers of other servers."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of all archives that are open."""

    generations: int
    words: int


class Archive:
    """``view`` and ``store`` are for the engine thread and never wait; the other methods are for any thread."""

    def __init__(
        self, root: Path, tokenizer: str, model: str, limits: Limits, clock: Callable[[], float] = time.time
    ) -> None:
        self.counts = Counts()
        self.closed = False
        """Nothing is added any more."""
        self._root = root
        self._folder = TokenizerFolder(root / tokenizer)
        self.folder = self._folder.path
        self._model = model
        self._limits = limits
        self._clock = clock
        self.listener: Teller | None = None
        """Told of each answer that is archived and of its tenant's folder, on the archive's thread."""
        self._names: dict[str, str] = {}
        """The folders' names by those of tenants."""
        self._shelves: dict[str, Shelf] = {}
        """By the names of folders."""
        self._added: OrderedDict[tuple[str, bytes], None] = OrderedDict()
        self._asked: set[str] = set()
        self._grown = False
        self._work: queue.Queue[Callable[[], object] | None] = queue.Queue(_MOST_WAITING)
        self._refreshed = self._tidied = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="reame-palimpsest", daemon=True)

    def start(self) -> None:
        """Begin to open the archive of the tenant without a name."""
        self._thread.start()
        self.view("")

    def view(self, tenant: str) -> View | None:
        """What is known of ``tenant``; None until its archive has been opened, which begins now."""
        folder = self._folder_name(tenant)
        shelf = self._shelves.get(folder)
        if shelf is not None:
            return shelf.view
        if folder not in self._asked and self._enqueue(lambda: self._open(folder)):
            self._asked.add(folder)
        return None

    def _folder_name(self, tenant: str) -> str:
        name = self._names.get(tenant)
        if name is None:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            name = self._names[tenant] = tenant_folder_name(tenant)
        return name

    def store(self, tenant: str, generation: Generation, *, shared: bool = True) -> None:
        """Archive ``generation`` soon, or drop it where too much is waiting. Others are told if it may be
        ``shared``."""
        folder = self._folder_name(tenant)
        if not self._enqueue(lambda: self._store(folder, generation, shared)):
            self.counts.dropped += 1

    def add(self, generations: Mapping[str, Sequence[Generation]], timeout: float) -> int | None:
        """Archive what other servers have made, by the names of tenants' folders; how many were new. None where
        it took longer than ``timeout`` seconds. For any thread but the engine's."""
        done: Future[int] = Future()

        def add() -> None:
            try:
                done.set_result(sum(self._add(folder, each) for folder, each in generations.items()))
            except BaseException as error:
                done.set_exception(error)
                raise

        until = time.monotonic() + timeout
        if self.closed or not self._enqueue(add, timeout):
            return None
        try:
            return done.result(max(0.0, until - time.monotonic()))
        except Exception:
            # It is told where it happened.
            return None

    def sizes(self) -> Sizes:
        """What can be searched."""
        views = [shelf.view for shelf in list(self._shelves.values())]
        sources = [source for view in views for source in view.sources]
        return Sizes(sum(each.generation_count for each in sources), sum(each.words for each in sources))

    def flush(self, timeout: float = _PATIENCE_AT_END) -> bool:
        """Wait until what was stored before is searchable and what others have written is seen."""
        done = threading.Event()

        def refresh() -> None:
            self._refresh()
            done.set()

        return self._enqueue(refresh, timeout) and done.wait(timeout)

    def close(self) -> None:
        """Write what is waiting and stop; sealing may take a second."""
        self.closed = True
        self._work.put(None)
        self._thread.join(_PATIENCE_AT_END)

    def _enqueue(self, work: Callable[[], object], timeout: float = 0.0) -> bool:
        try:
            self._work.put(work, block=timeout > 0, timeout=timeout or None)
        except queue.Full:
            return False
        return True

    def _run(self) -> None:
        while True:
            try:
                work: Callable[[], object] | None = self._work.get(timeout=REFRESH_SECONDS)
            except queue.Empty:
                work = self._refresh
            if work is None:
                break
            self._guarded(work)
            if time.monotonic() - self._refreshed >= REFRESH_SECONDS:
                self._guarded(self._refresh)
        for shelf in self._shelves.values():
            self._guarded(shelf.close)
        if self._grown:
            self._guarded(self._keep_within_budget)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception:
            log.exception("the archive of generations has failed; it goes on")

    def _open(self, folder: str) -> Shelf:
        shelf = self._shelves.get(folder)
        if shelf is None:
            if len(self._shelves) >= _MOST_SHELVES:
                self._shelves.pop(next(iter(self._shelves))).close()
            shelf = Shelf(self._folder.path / folder, self._folder.tokenizer, self._limits, self._clock)
            shelf.tidy()
            self._shelves[folder] = shelf
        self._asked.discard(folder)
        return shelf

    def _store(self, folder: str, generation: Generation, shared: bool) -> None:
        if not self._open(folder).add(generation):
            self.counts.repeated += 1
            return
        self.counts.stored += 1
        self._grown = True
        if shared and self.listener is not None:
            self.listener(folder, generation)

    def _add(self, folder: str, generations: Sequence[Generation]) -> int:
        shelf, now, added = self._open(folder), int(self._clock()), 0
        for generation in generations:
            known = folder, content_id(generation)
            if known in self._added:
                continue
            self._added[known] = None
            if len(self._added) > _MOST_REMEMBERED:
                self._added.popitem(last=False)
            # Another's clock may be ahead: what comes from the future would never expire.
            if shelf.add(replace(generation, time=min(generation.time, now))):
                added += 1
        self.counts.added += added
        self._grown = self._grown or added > 0
        return added

    def _refresh(self) -> None:
        now = self._refreshed = time.monotonic()
        if self._grown:
            self._grown = False
            self._keep_within_budget()
        tidy = now - self._tidied >= _TIDY_SECONDS
        if tidy:
            self._tidied = now
        for shelf in self._shelves.values():
            if tidy:
                shelf.tidy()
            else:
                shelf.refresh()

    def _keep_within_budget(self) -> None:
        try:
            self._folder.describe(self._model)
            keep_within(self._root, self._limits.size)
        except OSError as error:
            log.debug("the size of %s cannot be limited: %s", self._root, error)
