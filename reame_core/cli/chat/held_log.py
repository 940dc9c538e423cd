"""The log, kept back while the screen belongs to something else."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from typing import TYPE_CHECKING

from reame_core.cli.logs import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 1000
"""Records; more are shown at once, wherever that is."""


class HeldLog:
    """What was logged since the last ``release``."""

    def __init__(self, handlers: list[MemoryHandler]) -> None:
        self._handlers = handlers

    def release(self) -> None:
        """Show it."""
        for handler in self._handlers:
            handler.flush()


@contextmanager
def held_log() -> Iterator[HeldLog]:
    """Nothing that Reame logs appears before it is released, or the block ends."""
    root = logging.getLogger()
    shown = [handler for handler in root.handlers if isinstance(handler, Lines)]
    held = [MemoryHandler(_MOST, logging.CRITICAL + 1, target) for target in shown]
    for old, new in zip(shown, held, strict=True):
        root.removeHandler(old)
        root.addHandler(new)
    try:
        yield HeldLog(held)
    finally:
        for old, new in zip(shown, held, strict=True):
            root.removeHandler(new)
            root.addHandler(old)
            new.close()
