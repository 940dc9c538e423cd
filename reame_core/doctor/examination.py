"""Looks at the machine, tries the model, and says what follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reame_core.config import Settings
from reame_core.doctor.variants import CLEARLY, Variant, gain, variants
from reame_core.host.cpu import clamp_threads, threads_to_try
from reame_core.host.machine import Machine, busy_neighbours, free_space, read_speed, this_machine
from reame_core.host.memory import COMPUTE_BYTES, byte_count
from reame_core.llama.bindings import build_version, system_info
from reame_core.llama.trials import Outcome, Trial, try_out
from reame_core.llama.tuning import Tuning
from reame_core.measurements import HostMeasurements
from reame_core.models.catalogue import ResolvedModel
from reame_core.models.catalogue.needs import USUAL_CONTEXT
from reame_core.models.gguf import GgufHeader, kv_bytes_per_token, number, read_header

BUSY = 0.35
"""Processors that others use from when on figures are theirs as well."""
STOLEN = 0.05
AMX_ADVICE = (
    "this processor has AMX, with which drafts and prompts are faster, and llama.cpp crashes there when some "
    "versions of GCC compiled it (12.2 is one); this mends it: CXXFLAGS='-fno-tree-dse -fno-dse' pip install "
    "--no-cache-dir --force-reinstall --no-deps --no-binary llama-cpp-python llama-cpp-python; then run "
    "reame doctor again"
)
"""The compiler takes the tile configuration for dead stores: https://github.com/ggml-org/llama.cpp/pull/26954"""


@dataclass(frozen=True, slots=True)
class Host:
    """What holds for every model here."""

    machine: Machine
    build: str
    build_features: str
    neighbours: float
    """Processors that others use now."""
    folders: dict[str, tuple[Path, int]]
    """Folder and free bytes by what it is for."""

    @property
    def remarks(self) -> list[str]:
        """What deserves attention, in sentences."""
        machine = self.machine
        said = []
        if self.neighbours >= BUSY:
            said.append(
                f"other processes keep {self.neighbours:.1f} processors busy: figures are low now, and Reame "
                "computes with fewer threads while that lasts"
            )
        if machine.stolen >= STOLEN:
            said.append(
                f"the hypervisor gave {100 * machine.stolen:.0f} % of this machine's time to others since it "
                "started"
            )
        if machine.quota is not None and machine.quota < machine.logical:
            said.append(f"a control group pays for {machine.quota:g} of {machine.logical} processors")
        if machine.numa_nodes > 1:
            said.append(
                f"there are {machine.numa_nodes} NUMA nodes: one of them is faster than all, so start Reame "
                "with `numactl --cpunodebind=0 --membind=0`"
            )
        if "avx2" in machine.features and "AVX2 = 1" not in self.build_features:
            said.append(
                "llama.cpp was built without AVX2, which this processor has: install llama-cpp-python again "
                "from source (pip install --no-binary llama-cpp-python --force-reinstall llama-cpp-python)"
            )
        return said


@dataclass(frozen=True, slots=True)
class Patient:
    """One model on this host."""

    name: str
    header: GgufHeader
    disk: float | None
    """Bytes a second."""
    tuning: Tuning
    others: list[tuple[Variant, Outcome]]
    context: int
    parallel: int
    kv_bytes: int
    """Of one token, all layers; 0 where that is not known."""
    machine: Machine

    @property
    def chosen(self) -> Outcome:
        return self.tuning.best

    @property
    def copied(self) -> int:
        """Bytes of weights that lie in memory once more, in another layout; at most, where llama.cpp
        chooses."""
        buffers = self.chosen.setup.buffers
        repacked = set(buffers.repacked)
        return sum(
            tensor.size or 0
            for tensor in self.header.tensors
            if tensor.name in repacked or (buffers.extra and len(tensor.shape) == 2)
        )

    @property
    def memory(self) -> int:
        """Bytes at the most: file, copies, a full KV memory, and computing."""
        kv = self.kv_bytes * self.context * self.parallel
        return self.header.file_size + self.copied + kv + COMPUTE_BYTES

    @property
    def remarks(self) -> list[str]:
        """What follows, in sentences."""
        said = [
            f"{variant.label}: {factor:.2f} times as fast here; {variant.advice}"
            for variant, outcome in self.others
            if variant.advice and (factor := gain(self.chosen, outcome)) is not None and factor > CLEARLY
        ]
        room = self.machine.memory_free
        if self.machine.memory_left is not None:
            room = min(room, self.machine.memory_left)
        if self.memory > room:
            said.append(
                f"all conversations full would need {byte_count(self.memory)}, and {byte_count(room)} are "
                "free: Reame plans fewer cells then; a smaller model.context_length or engine.parallel, or "
                'model.kv_cache_type = "q8_0" needs less'
            )
        crashed = [o for o in self.tuning.outcomes if o.speed is None and "crashed" in o.failure]
        if crashed:
            said.append(
                "llama.cpp crashes on this processor with "
                + " and with ".join(f"weight buffers {o.setup.buffers.label}" for o in crashed)
                + ": Reame found out in a process of its own and leaves them alone"
            )
        if "amx_int8" in self.machine.features and any(o.setup.buffers.extra for o in crashed):
            said.append(AMX_ADVICE)
        return said


def examine_host(folders: dict[str, Path], neighbours: Callable[[], float] = busy_neighbours) -> Host:
    """Takes half a second."""
    return Host(
        machine=this_machine(),
        build=build_version(),
        build_features=system_info(),
        neighbours=neighbours(),
        folders={name: (folder, free_space(folder)) for name, folder in folders.items()},
    )


def examine_model(
    settings: Settings,
    model: ResolvedModel,
    machine: Machine,
    *,
    thorough: bool,
    progress: Callable[[str], None],
    trial: Trial = try_out,
) -> Patient:
    """Try what can be chosen, and with ``thorough`` other setups beside the best. The choice is remembered for
    later starts."""
    values = settings.values
    header = read_header(model.path)
    disk = read_speed(model.path)
    usual = clamp_threads(values.model.threads)
    numbers = [usual.threads] if values.model.threads else threads_to_try(usual)
    tuning = HostMeasurements(settings, model.path, header, numbers, progress).tune(trial)
    others: Sequence[Variant] = variants(tuning.best.setup, machine.logical) if thorough else ()
    tried = []
    for variant in others:
        progress(f"trying {variant.label}")
        tried.append((variant, trial(model.path, variant.setup)))
    trained = number(header, "{arch}.context_length") or USUAL_CONTEXT
    return Patient(
        name=model.name,
        header=header,
        disk=disk,
        tuning=tuning,
        others=tried,
        context=values.model.context_length or min(trained, USUAL_CONTEXT),
        parallel=values.engine.parallel,
        kv_bytes=kv_bytes_per_token(header, values.model.kv_cache_type) or 0,
        machine=machine,
    )
