"""The matrix on SmolLM2: one model for all cases, its memory emptied before each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from reame_core.engine.backend import Backend
from reame_core.engine.engine import Engine
from reame_core.engine.exactness import ExactShapes
from reame_core.engine.request import Request
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.plugins.api import PluginContext
from tests.matrix.ground import Ground
from tests.matrix.world import Setup

_SYSTEM = "<|im_start|>system\nYou sort the tickets of a shop for garden tools into teams.<|im_end|>\n"
_TICKETS = (
    "The lawn mower from order 4471 does not start.",
    "Where is my parcel? It should have come on Monday.",
    "Please send the invoice for the hedge trimmer again.",
    "The handle of the wheelbarrow broke after two days.",
)
_CELLS = 1024


class RealGround(Ground):
    """One backend for each type of KV cells; the plain path takes turns on it, for its answers are kept."""

    max_rows = 63
    exact = ExactShapes(1, 63)
    answer = 8

    def __init__(self, model: Path) -> None:
        super().__init__()
        self._model = model
        self._backends: dict[str, LlamaBackend] = {}

    def backend(self, setup: Setup, *, apart: bool = False) -> Backend:
        name = f"{setup.kv_type}, {setup.cells}" + (", apart" if apart else "")
        if name not in self._backends:
            self._backends[name] = LlamaBackend(
                self._model,
                LlamaOptions(
                    kv_cells=setup.cells,
                    threads=1,
                    max_sequences=40,
                    max_rows=self.max_rows,
                    max_outputs=self.max_rows,
                    kv_type=setup.kv_type,
                ),
            )
        backend = self._backends[name]
        backend.clear()
        return backend

    def close(self) -> None:
        for backend in self._backends.values():
            backend.close()

    def prompt(self, number: int) -> tuple[int, ...]:
        ticket = _TICKETS[number % len(_TICKETS)]
        return self._chat(ticket)

    def _chat(self, question: str) -> tuple[int, ...]:
        text = f"{_SYSTEM}<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        any_backend = next(iter(self._backends.values()))
        return tuple(any_backend.tokenize(text, parse_special=True))

    def for_a_list(self, request: Request) -> Request:
        return replace(request, prompt=self._chat("Write a numbered list of three garden tools."))

    def context(
        self, backend: Backend, options: Mapping[str, object], namespace: Mapping[str, str]
    ) -> PluginContext:
        return PluginContext(backend.info, options, namespace, "smollm2", backend.piece, backend.tokenize)

    def check(self, engine: Engine) -> None:
        assert 0 <= engine.memory.promised <= engine.memory.ledger.free
