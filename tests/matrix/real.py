"""The matrix on SmolLM2: one model for all cases, its memory emptied before each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from string import ascii_lowercase, digits

from reame_core.engine.backend import Backend
from reame_core.engine.engine import Engine
from reame_core.engine.exactness import ExactShapes
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
    answer = 10
    sampled_as_greedy = True

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
        text = f"{_SYSTEM}<|im_start|>user\n{ticket}<|im_end|>\n<|im_start|>assistant\n"
        any_backend = next(iter(self._backends.values()))
        return tuple(any_backend.tokenize(text, parse_special=True))

    @cached_property
    def characters(self) -> Mapping[str, int]:
        any_backend = next(iter(self._backends.values()))
        return {each: any_backend.tokenize(each)[-1] for each in ascii_lowercase + digits}

    def context(
        self, backend: Backend, options: Mapping[str, object], namespace: Mapping[str, str]
    ) -> PluginContext:
        return PluginContext(backend.info, options, namespace, "smollm2", backend.piece, backend.tokenize)

    def check(self, engine: Engine) -> None:
        assert 0 <= engine.memory.promised <= engine.memory.ledger.free
