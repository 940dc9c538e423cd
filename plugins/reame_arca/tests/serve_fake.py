"""A server process on the fake model with the plugin: ``serve_fake.py STORE_URL MS_A_BATCH OPTION=VALUE...``"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reame_arca.plugin import Arca
from similar.embedders import BagOfWords

from reame_core.cli.group import exit_code
from reame_core.cli.terminal import note
from reame_core.config import Flag, load_settings
from reame_core.engine.backend import Rows
from reame_core.plugins.api import PluginContext
from reame_core.plugins.built_in import BUILT_IN_PLUGINS
from reame_core.plugins.manager import PluginManager
from reame_core.server.serve import serve
from reame_core.testing import FakeBackend
from reame_core.testing.serving import FakeModel


class SlowBackend(FakeBackend):
    """Takes a while for each batch."""

    def __init__(self, milliseconds: float) -> None:
        super().__init__(cells=4096)
        self._seconds = milliseconds / 1000

    def decode(self, rows: Rows) -> None:
        time.sleep(self._seconds)
        super().decode(rows)


@contextmanager
def opened(
    options: dict[str, object], milliseconds: float, progress: Callable[[str], None]
) -> Iterator[FakeModel]:
    backend = SlowBackend(milliseconds)
    manager = PluginManager(builtins=(("arca", Arca()), *BUILT_IN_PLUGINS), entry_points=[])
    context = PluginContext(
        backend.info,
        options,
        {"model": "fake"},
        tokenizer="fake",
        piece=backend.piece,
        tokenize=backend.tokenize,
        open_embedder=lambda model, **wishes: BagOfWords(),
    )
    manager.startup(lambda _: context)
    model = FakeModel(backend, manager)
    try:
        yield model
    finally:
        model.close()
        manager.shutdown()


def main() -> None:
    url, milliseconds, *given = sys.argv[1:]
    options: dict[str, object] = {"url": url, **dict(option.split("=", 1) for option in given)}
    settings = load_settings([Flag("--port", "server.port", "0")], environment={"REAME_HOME": "/nonexistent"})
    sys.exit(exit_code(lambda: serve(settings, lambda tell: opened(options, float(milliseconds), tell), note)))


main()
