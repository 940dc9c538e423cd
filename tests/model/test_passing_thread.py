"""Nothing of llama.cpp stays behind on a thread that is not the engine's."""

from __future__ import annotations

from pathlib import Path

import pytest

from reame_core.engine.noise import find_noise
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.llama.passing_thread import in_passing_thread

TASKS = Path("/proc/self/task")


@pytest.mark.skipif(not TASKS.is_dir(), reason="threads are counted in /proc")
def test_preparing_a_model_leaves_no_team_of_threads_behind(smollm2_path: Path) -> None:
    """Each one would make the engine's team wait at barriers without spinning: see ``passing_thread``."""

    def prepare() -> LlamaBackend:
        backend = LlamaBackend(smollm2_path, LlamaOptions(kv_cells=512, threads=2))
        find_noise(backend, backend.tokenize("What is there to compute? A little of everything."))
        return backend

    before = {task.name for task in TASKS.iterdir()}
    backend = in_passing_thread(prepare)
    try:
        assert {task.name for task in TASKS.iterdir()} <= before
    finally:
        backend.close()
