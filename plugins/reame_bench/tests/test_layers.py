from __future__ import annotations

import pytest
from reame_bench.profile.layers import HOOKS, HTTP, LLAMA, OTHER, SAMPLING, SCHEDULING, WAITING, place, read

WORKER = "_run (/x/reame_core/engine/worker.py:90)"


@pytest.mark.parametrize(
    ("frames", "layer"),
    [
        (
            [WORKER, "step (/x/reame_core/engine/engine.py:1)", "decode (/x/reame_core/llama/backend.py:9)"],
            LLAMA,
        ),
        (
            [WORKER, "step (/x/reame_core/engine/engine.py:1)", "choose (/x/reame_core/engine/sampling.py:9)"],
            SAMPLING,
        ),
        (
            [WORKER, "step (/x/reame_core/engine/engine.py:1)", "argmax (/x/numpy/_core/fromnumeric.py:9)"],
            SCHEDULING,
        ),
        (
            [WORKER, "__call__ (/x/reame_core/plugins/guard.py:1)", "find (/x/reame_palimpsest/follower.py:3)"],
            HOOKS,
        ),
        (["run (/x/uvicorn/server.py:1)", "encode (/x/msgspec/json.py:2)"], HTTP),
        (["_bootstrap (/lib/threading.py:1)", "work (/x/elsewhere.py:2)"], OTHER),
        ([WORKER, "wait (threading.py:320)"], WAITING),
        ([WORKER, "Condition.wait (/usr/lib/python3.11/threading.py:327)"], WAITING),
        (["run (/x/uvicorn/server.py:1)", "EpollSelector.select (/x/selectors.py:468)"], WAITING),
        ([WORKER, "wait (/usr/lib/python3.11/threading.py:327)"], WAITING),
        ([WORKER, "await_all (/x/reame_core/engine/threading.py:327)"], SCHEDULING),
    ],
)
def test_the_innermost_frame_of_ours_decides(frames: list[str], layer: str) -> None:
    assert place(frames)[0] == layer


def test_threads_are_told_apart_and_waiting_is_no_work() -> None:
    stacks = "\n".join(
        [
            f"{WORKER};decode (/x/reame_core/llama/backend.py:9) 90",
            f"{WORKER};choose (/x/reame_core/engine/sampling.py:9) 10",
            f"{WORKER};wait (threading.py:320) 500",
            "run (/x/uvicorn/server.py:1) 7",
            "nonsense",
        ]
    )
    engine = read(stacks, engine_thread=True)
    assert engine.layers == {LLAMA: 90, SAMPLING: 10}
    assert engine.functions[SAMPLING, "choose (sampling.py)"] == 10
    assert read(stacks, engine_thread=False).layers == {HTTP: 7}
