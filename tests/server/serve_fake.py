"""A server process on the fake model: ``python serve_fake.py MODE OPTION=VALUE...``, for tests of its life."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from reame_core.cli.group import exit_code
from reame_core.cli.terminal import note
from reame_core.engine.backend import Rows
from reame_core.errors import ModelError
from reame_core.server.serve import serve
from reame_core.testing import FakeBackend

sys.path.insert(0, str(Path(__file__).parent))
from fake_model import FakeModel, settings_with  # type: ignore[import-not-found]


class SlowBackend(FakeBackend):
    """Ten milliseconds a batch; from the tenth one on it waits for the file that ``GO_ON`` names."""

    def decode(self, rows: Rows) -> None:
        time.sleep(0.01)
        while self.decodes >= 10 and (path := os.environ.get("GO_ON")) and not Path(path).exists():
            time.sleep(0.01)
        super().decode(rows)


@contextmanager
def opened(mode: str, progress: Callable[[str], None]) -> Iterator[FakeModel]:
    progress("loading fake")
    if mode == "fails":
        raise ModelError("fake.gguf: this file is damaged")
    if mode == "hangs":
        time.sleep(60)
    model = FakeModel(SlowBackend(cells=4096), context_length=2048)
    try:
        yield model
    finally:
        model.close()
        progress("closed")


def main() -> None:
    mode, *options = sys.argv[1:]
    settings = settings_with(**{"port": 0} | dict(option.split("=", 1) for option in options))
    sys.exit(exit_code(lambda: serve(settings, lambda progress: opened(mode, progress), note)))


main()
