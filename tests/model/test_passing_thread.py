"""Nothing of llama.cpp stays behind on a thread that is not the engine's."""

from __future__ import annotations

import threading
import time
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

    def tasks() -> set[str]:
        return {task.name for task in TASKS.iterdir()}

    before = tasks()
    backend = in_passing_thread(prepare)
    try:
        # A team is told to end, and nobody waits until it has.
        deadline = time.monotonic() + 30
        while not tasks() <= before and time.monotonic() < deadline:
            threading.Event().wait(0.01)
        assert tasks() <= before
    finally:
        backend.close()
