"""One model under test, loaded once for all measurements that can share it."""

from __future__ import annotations

import tempfile
from functools import cached_property
from itertools import count
from pathlib import Path

from bench.conditions import Conditions
from bench.subject import Subject
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.calibration import measure_batches
from reame_core.engine.engine import Engine, EngineOptions
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.llama.model import WeightBuffers
from reame_core.llama.tuning import Tensor, candidates, tune
from reame_core.models.gguf import GgufHeader, parameters, read_header

CONTEXT, CELLS = 4096, 8192
_LARGE = 10**9
_SMALL = 3 * 10**8
_TEXT = (
    "Report {number}. The {number} boats left the harbour at dawn, and by noon the wind had turned west. "
    "Nobody had expected rain; still, every crew carried canvas, rope and enough bread for two days. In 1984 a "
    "similar storm had cost the town {number} thousand pounds and one bell tower. def area(width, height): "
    "return width * height * {number}. The older sailors said little and watched the clouds. "
)


class Case(Subject):
    """A model file, how it is loaded, and prompts for it."""

    def __init__(self, path: Path, conditions: Conditions) -> None:
        super().__init__(path, conditions)
        self._numbers = count(1)

    @cached_property
    def header(self) -> GgufHeader:
        return read_header(self.path)

    @property
    def large(self) -> bool:
        """1.5B and the like."""
        return parameters(self.header) >= _LARGE

    @property
    def small(self) -> bool:
        """SmolLM2-135M and the like, where everything beside the model weighs more."""
        return parameters(self.header) < _SMALL

    @cached_property
    def fastest_buffers(self) -> WeightBuffers:
        """What ``engine.extra_buffers = auto`` finds for this model here."""
        tensors = [Tensor(t.name, t.type, len(t.shape)) for t in self.header.tensors]
        tuning = tune(self.path, candidates(tensors), [self.threads], progress=self.progress)
        return tuning.best.setup.buffers

    @property
    def buffers(self) -> WeightBuffers:
        return self.fastest_buffers if self.conditions.buffers == "auto" else WeightBuffers()

    @cached_property
    def backend(self) -> LlamaBackend:
        return open_backend(self.path, self.threads, self.buffers, CELLS)

    def engine(self, stall_ms: float = 200.0) -> Engine:
        """A new engine on an empty KV memory; any earlier one is void."""
        self.backend.clear()
        return Engine(self.backend, EngineOptions(context_length=CONTEXT, stall_ms=stall_ms))

    def experienced_engine(self) -> Engine:
        """As ``engine``, with what a session measures before the first request of several users."""
        engine = self.engine()
        engine.cost.adopt(self._costs)
        return engine

    @cached_property
    def _costs(self) -> BatchCost:
        cost = BatchCost()
        measure_batches(self.backend, cost)
        return cost

    def prompt(self, length: int) -> tuple[int, ...]:
        """``length`` tokens of ordinary text that begin like no earlier prompt."""
        return make_prompt(self.backend, length, next(self._numbers))

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="reame-bench-")

    def new_folder(self) -> Path:
        """An empty one, until ``close``."""
        return Path(tempfile.mkdtemp(dir=self._folder.name))

    def close(self) -> None:
        if "_folder" in self.__dict__:
            self._folder.cleanup()
        backend = self.__dict__.pop("backend", None)
        if backend is not None:
            backend.close()


def open_backend(path: Path, threads: int, buffers: WeightBuffers, cells: int) -> LlamaBackend:
    """As the engine's own users open it."""
    return LlamaBackend(path, LlamaOptions(kv_cells=cells, threads=threads, buffers=buffers))


def make_prompt(backend: LlamaBackend, length: int, number: int) -> tuple[int, ...]:
    """``length`` tokens of ordinary text, other ones for each ``number``."""
    bos = backend.info.bos
    tokens = [bos] if backend.info.adds_bos and bos is not None else []
    while len(tokens) < length:
        tokens += backend.tokenize(_TEXT.format(number=number))
        number += 1000
    return tuple(tokens[:length])
