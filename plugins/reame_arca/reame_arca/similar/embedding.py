"""Texts to vectors in the background, so that nobody waits for an embedding model longer than they want to."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reame_core.plugins.api import Embedder

    Vector = NDArray[np.float32] | None

log = logging.getLogger("reame.plugins.arca")

_MOST_WAITING = 32
"""Texts in the queue; more are refused: the machine is busy with other things."""
_STUCK_S = 2.0
"""A text takes milliseconds. After so long nothing new is begun until it is done."""


class Embedding:
    """One thread for ``embedder``. ``close`` does not wait for a text that takes forever. For any thread."""

    def __init__(self, embedder: Embedder, clock: Callable[[], float] = monotonic) -> None:
        self._embedder = embedder
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: deque[tuple[str, Future[Vector]]] = deque()
        self._since: float | None = None
        self._closing = False
        self._complained = False
        self._thread = threading.Thread(target=self._run, name="reame-arca-embed", daemon=True)
        self._thread.start()

    def submit(self, text: str) -> Future[Vector] | None:
        """The vector of ``text``: (dimension,) of length 1, or None where there is none. None instead of a
        future where there is too much to do."""
        with self._changed:
            stuck = self._since is not None and self._clock() - self._since > _STUCK_S
            if self._closing or stuck or len(self._waiting) >= _MOST_WAITING:
                return None
            future: Future[Vector] = Future()
            self._waiting.append((text, future))
            self._changed.notify()
            return future

    def close(self, timeout: float = 2.0) -> None:
        """What waits has no vector."""
        with self._changed:
            self._closing = True
            waiting, self._waiting = list(self._waiting), deque()
            self._changed.notify()
        for _, future in waiting:
            future.set_result(None)
        self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._since = None
                self._changed.wait_for(lambda: self._waiting or self._closing)
                if not self._waiting:
                    return
                text, future = self._waiting.popleft()
                self._since = self._clock()
            future.set_result(self._vector(text))

    def _vector(self, text: str) -> Vector:
        try:
            vector = self._embedder.embed(text)
            if vector is None:
                return None
            vector = np.asarray(vector, np.float32)
            length = float(np.linalg.norm(vector))
        # Whatever a model does: the question is computed.
        except Exception as error:
            self._complain(str(error))
            return None
        if vector.shape != (self._embedder.dimension,) or not 0 < length < float("inf"):
            self._complain("it makes no vectors")
            return None
        return vector / np.float32(length)

    def _complain(self, why: str) -> None:
        level = logging.DEBUG if self._complained else logging.WARNING
        self._complained = True
        log.log(level, "the embedding model %s fails: %s", self._embedder.name, why)
