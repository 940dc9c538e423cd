"""What the plugins of one engine offer each other. The core carries it and knows none of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

log = logging.getLogger("reame.plugins")

T = TypeVar("T")


class Offers:
    """For the thread that builds the engine, in ``startup``. Neither needs to come before the other."""

    def __init__(self) -> None:
        self._offered: list[object] = []
        self._takers: list[tuple[type[Any], Callable[[Any], None]]] = []

    def make(self, service: object) -> None:
        """Offer ``service`` to whoever takes things of its type. Its methods must go on being harmless after
        the ``shutdown`` of the plugin that offers it, which may come first."""
        self._offered.append(service)
        for kind, use in self._takers:
            self._hand_over(service, kind, use)

    def take(self, kind: type[T], use: Callable[[T], None]) -> None:
        """Have ``use`` called with everything of this type that was offered and that will be. An exception
        is logged: it costs the one who takes what is offered, and nobody else."""
        self._takers.append((kind, use))
        for service in self._offered:
            self._hand_over(service, kind, use)

    @staticmethod
    def _hand_over(service: object, kind: type[Any], use: Callable[[Any], None]) -> None:
        if not isinstance(service, kind):
            return
        try:
            use(service)
        except Exception:
            log.exception("a plugin could not take the %s that another one offers", kind.__name__)
