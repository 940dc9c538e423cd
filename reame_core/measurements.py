"""What is measured once on this machine for one model, and remembered: layouts, shapes, noise, costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from reame_core.config import Settings
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.calibration import measure_batches
from reame_core.engine.exactness import ExactShapes, find_exact_shapes
from reame_core.engine.noise import find_noise_floor
from reame_core.host.cpu import cpu_name
from reame_core.host.state import HostState
from reame_core.llama.backend import LlamaBackend
from reame_core.llama.bindings import build_version
from reame_core.llama.model import WeightBuffers
from reame_core.llama.tuning import Tensor, fastest
from reame_core.models.gguf import GgufHeader, fingerprint

_SAMPLE = "The quick brown fox jumps over the lazy dog. In 1984, seven men paid £12.50 for a boat; none sailed."


class HostMeasurements:
    """Of the model at ``path`` with ``threads`` threads; ``progress`` is told in a line what takes a while."""

    def __init__(
        self, settings: Settings, path: Path, header: GgufHeader, threads: int, progress: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._path = path
        self._header = header
        self._threads = threads
        self._progress = progress
        self._store = HostState.of_this_user()
        self._fingerprint = fingerprint(path)
        self._key = f"{cpu_name()} | {build_version()} | {self._fingerprint} | {threads} threads"

    def weight_buffers(self) -> WeightBuffers:
        """By ``engine.extra_buffers``; ``auto`` tries all candidates the first time."""
        wish = self._settings.values.engine.extra_buffers
        if wish != "auto":
            return WeightBuffers(extra=wish == "on")
        remembered = self._store.get(f"weight_buffers | {self._key}")
        if isinstance(remembered, dict):
            return WeightBuffers(bool(remembered.get("extra")), tuple(remembered.get("repacked", ())))
        tensors = [Tensor(t.name, t.type, len(t.shape)) for t in self._header.tensors]
        best = fastest(self._path, tensors, self._threads, progress=self._progress)
        self._store.put(f"weight_buffers | {self._key}", {"extra": best.extra, "repacked": list(best.repacked)})
        return best

    def exact_shapes(self, backend: LlamaBackend, buffers: WeightBuffers) -> ExactShapes:
        """Measured the first time."""
        key = f"exact_shapes | {self._variant(buffers)}"
        remembered = self._store.get(key)
        if isinstance(remembered, list) and len(remembered) == 2:
            return ExactShapes(*remembered)
        self._progress("finding the batch shapes that compute bit-identical rows, once")
        shapes = find_exact_shapes(backend, backend.tokenize(_SAMPLE))
        self._store.put(key, [shapes.least, shapes.most])
        return shapes

    def noise_floor(self, backend: LlamaBackend, buffers: WeightBuffers) -> float:
        """Measured the first time that anything drafts."""
        key = f"noise_floor | {self._variant(buffers)}"
        remembered = self._store.get(key)
        if isinstance(remembered, (int, float)):
            return float(remembered)
        self._progress("measuring how far kernels disagree, once")
        floor = find_noise_floor(backend, backend.tokenize(_SAMPLE))
        self._store.put(key, floor)
        return floor

    def recall_costs(
        self, backend: LlamaBackend, cost: BatchCost, buffers: WeightBuffers, *, measure: bool
    ) -> None:
        """Let ``cost`` know what batches cost, by memory or, with ``measure``, by trying."""
        remembered = self._store.get(f"batch_costs | {self._variant(buffers)}")
        if isinstance(remembered, dict) and remembered:
            cost.remember({float(rows): float(ms) for rows, ms in remembered.items()})
        elif measure:
            self._progress("measuring what batches cost, once")
            measure_batches(backend, cost)

    def keep_costs(self, cost: BatchCost, buffers: WeightBuffers) -> None:
        """Remember what batches cost by now."""
        if measured := cost.measured():
            self._store.put(
                f"batch_costs | {self._variant(buffers)}", {str(r): ms for r, ms in measured.items()}
            )

    def _variant(self, buffers: WeightBuffers) -> str:
        return f"{self._key} | {buffers.label} | {self._settings.values.model.kv_cache_type}"

    def namespace(self, buffers: WeightBuffers) -> Mapping[str, str]:
        """Everything that changes what KV cells hold."""
        return {
            "model": self._fingerprint,
            "kv_cache_type": self._settings.values.model.kv_cache_type,
            "weight_buffers": buffers.label,
            "flash_attention": "on",
            "sliding_window_cache": "full",
            "build": build_version(),
        }
