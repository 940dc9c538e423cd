"""Nothing of llama.cpp stays behind on a thread that is not the engine's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TASKS = Path("/proc/self/task")
PREPARE = """
import sys, time
from pathlib import Path

from reame_core.engine.noise import find_noise
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.llama.passing_thread import in_passing_thread

def tasks():
    return {task.name for task in Path("/proc/self/task").iterdir()}

def prepare():
    backend = LlamaBackend(Path(sys.argv[1]), LlamaOptions(kv_cells=512, threads=2))
    find_noise(backend, backend.tokenize("What is there to compute? A little of everything."))
    return backend

before = tasks()
backend = in_passing_thread(prepare) if sys.argv[2] == "passing" else prepare()
# A team is told to end, and nobody waits until it has.
deadline = time.monotonic() + float(sys.argv[3])
while not tasks() <= before and time.monotonic() < deadline:
    time.sleep(0.01)
print(len(tasks() - before))
"""


@pytest.mark.skipif(not TASKS.is_dir(), reason="threads are counted in /proc")
@pytest.mark.parametrize(("where", "seconds", "left"), [("passing", "60", 0), ("main", "0", 1)])
def test_a_team_of_threads_stays_with_the_thread_that_computed(
    smollm2_path: Path, where: str, seconds: str, left: int
) -> None:
    """Each one that stays makes the engine's team wait at barriers without spinning: see ``passing_thread``."""
    child = subprocess.run(
        [sys.executable, "-c", PREPARE, str(smollm2_path), where, seconds],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(child.stdout.split()[-1]) == left
