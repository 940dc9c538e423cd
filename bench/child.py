"""A process that runs requests through an engine of its own, told what to do by JSON lines on standard input.

The first line says what to load, each further one is a request; every answer is a line on standard output.
It exists because some things are decided when a process starts (OpenMP's waiting, the memory it needs), and
because some weight buffers crash. The other side is ``bench.worker``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    job = json.loads(sys.stdin.readline())
    if job["library_first"]:
        # Loaded before Reame sets anything, libgomp waits as its authors like it.
        import llama_cpp  # noqa: F401
    from bench.case import CONTEXT, make_prompt, open_backend
    from bench.requests import Watched, run
    from reame_core.engine.batch_cost import BatchCost
    from reame_core.engine.engine import Engine, EngineOptions
    from reame_core.host.neighbours import Neighbours
    from reame_core.llama.model import WeightBuffers

    buffers = WeightBuffers(job["extra"], tuple(job["repacked"]))
    backend = open_backend(Path(job["path"]), job["threads"], buffers, job["cells"])
    neighbours = Neighbours().busy_cores if job["adapt"] else None
    cost = BatchCost()
    _say({"cells": backend.info.kv_cells})
    for number, line in enumerate(sys.stdin):
        order = json.loads(line)
        backend.clear()
        options = EngineOptions(context_length=min(CONTEXT, job["cells"]), busy_cores=neighbours)
        engine = Engine(backend, options)
        engine.cost.adopt(cost)
        watched = Watched(engine, make_prompt(backend, order["prompt"], number), order["tokens"])
        run(engine, [watched], until=lambda: bool(watched.token_times))  # noqa: B023
        deadline = time.perf_counter() + order["seconds"]
        run(engine, [watched], until=lambda: time.perf_counter() > deadline)  # noqa: B023
        engine.cancel_all()
        cost.adopt(engine.threads.quiet_cost)
        backend.use_threads(job["threads"])
        _say({"prefill": watched.prefill, "decode": watched.decode, "tokens": len(watched.token_times)})


def _say(answer: dict[str, object]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
