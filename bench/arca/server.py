"""An engine with a disk cache, and with a shared store behind it where one is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from reame_arca.plugin import Arca
from reame_palimpsest.archive_plugin import ArchivePlugin

from bench.caching import Caching
from bench.case import Case


class Server(Caching):
    """As after a start: nothing in memory, on disk what ``folder`` holds."""

    def __init__(self, case: Case, folder: Path, url: str | None, prefix: str, *, archive: bool) -> None:
        self._arca = Arca()
        table = {} if url is None else {"url": url, "prefix": prefix, "answers": False}
        plugins: dict[str, tuple[object, Mapping[str, object]]] = {"arca": (self._arca, table)}
        if archive:
            plugins["palimpsest"] = ArchivePlugin(), {"folder": str(folder / "archive")}
        super().__init__(case, folder, {}, plugins)

    def shared_bytes(self, direction: str) -> float:
        """Of blocks, ``published`` or ``fetched``."""
        service = self._arca.service
        return service.store.counts.get("block_bytes", direction) if service is not None else 0.0

    def flush(self) -> None:
        """Wait until what was computed is on disk, and in the store."""
        super().flush()
        if self._arca.service is not None and self._arca.service.blocks is not None:
            self._arca.service.blocks.flush()


@contextmanager
def server(
    case: Case, folder: Path, url: str | None = None, prefix: str = "bench", *, archive: bool = False
) -> Iterator[Server]:
    """A server whose disk cache is in ``folder``, with an ``archive`` where asked for; servers with the same
    ``prefix`` share."""
    made = Server(case, folder, url, prefix, archive=archive)
    try:
        yield made
    finally:
        made.close()
