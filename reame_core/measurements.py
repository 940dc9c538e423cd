"""What is measured once on this machine for one model, and remembered: layouts, shapes, noise, costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from reame_core.config import Settings
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.calibration import knows_logits, measure_batches
from reame_core.engine.exactness import ExactShapes, find_exact_shapes
from reame_core.engine.noise import KernelNoise, find_noise
from reame_core.host.cpu import cpu_name
from reame_core.host.state import HostState
from reame_core.llama.backend import LlamaBackend
from reame_core.llama.bindings import build_version
from reame_core.llama.model import WeightBuffers
from reame_core.llama.passing_thread import in_passing_thread
from reame_core.llama.trials import Setup, Trial, try_out
from reame_core.llama.tuning import Tensor, Tuning, candidates, tune
from reame_core.models.gguf import GgufHeader, fingerprint

_SAMPLE = "The quick brown fox jumps over the lazy dog. In 1984, seven men paid £12.50 for a boat; none sailed."


class HostMeasurements:
    """Of the model at ``path`` with one of ``threads``, the usual number first; ``progress`` is told in a line
    what takes a while. Everything but ``setup`` speaks of the model as ``setup`` says to load it."""

    def __init__(
        self,
        settings: Settings,
        path: Path,
        header: GgufHeader,
        threads: Sequence[int],
        progress: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._path = path
        self._header = header
        self._threads = threads
        self._progress = progress
        self._store = HostState.of_this_user()
        self._fingerprint = fingerprint(path)
        self._host = f"{cpu_name()} | {build_version()} | {self._fingerprint}"

    @cached_property
    def setup(self) -> Setup:
        """How to load the model here: what is set, and the fastest of what is left open, which is tried the
        first time unless ``engine.tune`` is off."""
        wish = self._settings.values.engine.extra_buffers
        usual = Setup(
            threads=self._threads[0],
            buffers=WeightBuffers(extra=wish == "on"),
            flash_attention=self._attention[0],
        )
        if wish != "auto" and len(self._threads) == len(self._attention) == 1:
            return usual
        remembered = _setup_from(self._store.get(self._tuning_key))
        if remembered is not None or not self._settings.values.engine.tune:
            return remembered or usual
        tuning = self.tune()
        return tuning.best.setup

    def tune(self, trial: Trial = try_out) -> Tuning:
        """Try what the settings leave open, and remember the fastest."""
        wish = self._settings.values.engine.extra_buffers
        tensors = [Tensor(t.name, t.type, len(t.shape)) for t in self._header.tensors]
        buffers = candidates(tensors) if wish == "auto" else [WeightBuffers(extra=wish == "on")]
        tuning = tune(self._path, buffers, self._threads, self._attention, progress=self._progress, trial=trial)
        best = tuning.best.setup
        self._store.put(
            self._tuning_key,
            {
                "threads": best.threads,
                "extra": best.buffers.extra,
                "repacked": list(best.buffers.repacked),
                "flash_attention": best.flash_attention,
            },
        )
        return tuning

    @property
    def _attention(self) -> Sequence[bool]:
        """Whether flash attention may be used, what is tried first in front. Without it llama.cpp keeps no
        quantised cells, and its rows are bit-identical for fewer batch shapes."""
        values = self._settings.values
        wish = values.engine.flash_attention
        if values.engine.exact or values.model.kv_cache_type != "f16":
            return (True,)
        return (True, False) if wish == "auto" else (wish == "on",)

    @property
    def _tuning_key(self) -> str:
        numbers = " or ".join(map(str, self._threads))
        attention = " or ".join("on" if flash else "off" for flash in self._attention)
        buffers = self._settings.values.engine.extra_buffers
        return f"tuning | {self._host} | {buffers} | {numbers} threads | flash attention {attention}"

    def exact_shapes(self, backend: LlamaBackend) -> ExactShapes:
        """Measured the first time."""
        key = f"exact_shapes | {self._variant}"
        remembered = self._store.get(key)
        if isinstance(remembered, list) and len(remembered) == 2:
            return ExactShapes(*remembered)
        self._progress("finding the batch shapes that compute bit-identical rows, once")
        shapes = in_passing_thread(lambda: find_exact_shapes(backend, backend.tokenize(_SAMPLE)))
        self._store.put(key, [shapes.least, shapes.most])
        return shapes

    def kernel_noise(self, backend: LlamaBackend) -> KernelNoise:
        """Measured the first time that anything drafts."""
        key = f"kernel_noise 99 | {self._variant}"
        remembered = self._store.get(key)
        if isinstance(remembered, list) and len(remembered) == 2:
            return KernelNoise(float(remembered[0]), bool(remembered[1]))
        self._progress("measuring how far kernels disagree, once")
        noise = in_passing_thread(lambda: find_noise(backend, backend.tokenize(_SAMPLE)))
        self._store.put(key, [noise.floor, noise.small_agree])
        return noise

    def recall_costs(self, backend: LlamaBackend, cost: BatchCost, *, measure: bool) -> None:
        """Let ``cost`` know what batches cost, by memory or, with ``measure``, by trying."""
        remembered = _costs_from(self._store.get(f"batch_costs 4 | {self._variant}"))
        if remembered is not None:
            cost.remember(*remembered)
        if measure and (remembered is None or not knows_logits(cost, backend)):
            self._progress("measuring what batches cost, once")
            cost.adopt(in_passing_thread(lambda: _measured(backend)))

    def keep_costs(self, cost: BatchCost) -> None:
        """Remember what batches cost by now."""
        if measured := cost.measured():
            rows = {str(count): ms for count, ms in measured.items()}
            logits = {str(count): ms for count, ms in cost.logits.items()}
            costs = {"rows": rows, "attention": [*cost.attention], "logits": logits}
            self._store.put(f"batch_costs 4 | {self._variant}", costs)

    @property
    def _variant(self) -> str:
        setup = self.setup
        kv_type = self._settings.values.model.kv_cache_type
        attention = "" if setup.flash_attention else " | no flash attention"
        return f"{self._host} | {setup.threads} threads | {setup.buffers.label} | {kv_type}{attention}"

    def namespace(self) -> Mapping[str, str]:
        """Everything that changes what KV cells hold."""
        return {
            "model": self._fingerprint,
            "kv_cache_type": self._settings.values.model.kv_cache_type,
            "weight_buffers": self.setup.buffers.label,
            "flash_attention": "on" if self.setup.flash_attention else "off",
            "sliding_window_cache": "full",
            "build": build_version(),
        }


def _measured(backend: LlamaBackend) -> BatchCost:
    cost = BatchCost()
    measure_batches(backend, cost)
    return cost


def _costs_from(remembered: object) -> tuple[dict[float, float], list[float], dict[float, float]] | None:
    """Milliseconds by rows, of attention, and of logits; None for anything else than ``keep_costs`` writes."""
    match remembered:
        case {"rows": dict(rows), "attention": list(attention), "logits": dict(logits)} if rows:
            try:
                return _by_count(rows), [float(ms) for ms in attention], _by_count(logits)
            except (TypeError, ValueError):
                return None
    return None


def _by_count(remembered: Mapping[str, float]) -> dict[float, float]:
    return {float(count): float(ms) for count, ms in remembered.items()}


def _setup_from(remembered: object) -> Setup | None:
    match remembered:
        case {
            "threads": int(threads),
            "extra": bool(extra),
            "repacked": list(repacked),
            "flash_attention": bool(flash),
        } if threads > 0:
            buffers = WeightBuffers(extra, tuple(repacked))
            return Setup(threads=threads, buffers=buffers, flash_attention=flash)
    return None
