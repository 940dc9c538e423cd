"""Resident memory of a process with a loaded model, before and after a request of 1,000 generated tokens,
against the model's file and its KV memory. Mapped pages of the file count; PSS and USS tell what is shared
and what is not."""

from __future__ import annotations

import psutil

from bench.case import Case
from bench.report import Figure, Result, Target
from bench.worker import Worker
from reame_core.llama.model import WeightBuffers
from reame_core.models.gguf import kv_bytes_per_token

PROMPT, TOKENS, CELLS = 512, 1000, 4096
MARGIN_MB = 250
_MB = 1e6


def measure(case: Case, result: Result) -> None:
    layouts = {"plain": WeightBuffers()}
    if case.conditions.buffers == "auto" and case.fastest_buffers != WeightBuffers():
        layouts[f"chosen ({case.fastest_buffers.label})"] = case.fastest_buffers
    file_mb = case.header.file_size / _MB
    result.figures.append(Figure("model file", file_mb, "MB"))
    for layout, buffers in layouts.items():
        with Worker(case.path, case.threads, buffers, cells=CELLS) as worker:
            kv_mb = (kv_bytes_per_token(case.header, "f16") or 0) * worker.cells / _MB
            loaded = _resident(worker.pid)
            worker.request(case.size(PROMPT), case.size(TOKENS))
            used = _resident(worker.pid)
        beyond = used["rss"] - file_mb - kv_mb
        result.figures += [
            Figure(f"{layout}: beyond file and KV, after", beyond, "MB", target=Target("≤", MARGIN_MB)),
            Figure(f"{layout}: beyond file and KV, loaded", loaded["rss"] - file_mb - kv_mb, "MB"),
            *(Figure(f"{layout}: {kind.upper()}, after", size, "MB") for kind, size in used.items()),
        ]
    result.figures.append(Figure(f"KV memory of {CELLS} cells", kv_mb, "MB"))


def _resident(pid: int) -> dict[str, float]:
    memory = psutil.Process(pid).memory_full_info()._asdict()
    return {kind: memory[kind] / _MB for kind in ("rss", "pss", "uss") if kind in memory}
