"""Watching a backend's ``decode`` from outside, for the time that a with statement lasts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from reame_core.engine.backend import Rows
from reame_core.llama.backend import LlamaBackend
from reame_core.llama.bindings import lib


class DecodeSpy:
    """Notes the number of rows of each batch and how long it took."""

    def __init__(self, backend: LlamaBackend) -> None:
        self._backend: Any = backend
        self.rows: list[int] = []
        self.seconds: list[float] = []

    def _decode(self, rows: Rows) -> None:
        started = time.perf_counter()
        LlamaBackend.decode(self._backend, rows)
        self.seconds.append(time.perf_counter() - started)
        self.rows.append(len(rows))

    def __enter__(self) -> DecodeSpy:
        self._backend.decode = self._decode
        return self

    def __exit__(self, *_: object) -> None:
        del self._backend.decode


class CallSpy:
    """Adds up the seconds spent in the C function ``llama_decode`` itself."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lib: Any = lib
        self._function: Callable[..., int] = self._lib.llama_decode

    def _call(self, *arguments: object) -> int:
        started = time.perf_counter()
        status = self._function(*arguments)
        self.seconds += time.perf_counter() - started
        return status

    def __enter__(self) -> CallSpy:
        self._lib.llama_decode = self._call
        return self

    def __exit__(self, *_: object) -> None:
        self._lib.llama_decode = self._function
