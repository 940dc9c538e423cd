"""The child process of ``tuning``: measures one candidate and prints its speed. It may crash.

Reads a JSON object (path, threads, extra, repacked) from standard input.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from reame_core.engine.backend import Rows

_CELLS, _ROWS, _ROUNDS, _TOKENS = 512, 128, 2, 10


def main() -> None:
    """Measure and print."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    job = json.load(sys.stdin)
    from reame_core.llama.backend import LlamaBackend, LlamaOptions
    from reame_core.llama.model import WeightBuffers

    backend = LlamaBackend(
        Path(job["path"]),
        LlamaOptions(
            kv_cells=_CELLS,
            threads=job["threads"],
            max_sequences=3,
            max_rows=_ROWS,
            buffers=WeightBuffers(job["extra"], tuple(job["repacked"])),
        ),
    )

    def batch(position: int, count: int) -> float:
        rows = Rows()
        tokens = [100 + (position + i) % 1000 for i in range(count)]
        rows.add(0, position, tokens, logits_from=count - 1)
        started = time.perf_counter()
        backend.decode(rows)
        return 1000 * (time.perf_counter() - started)

    batch(0, 8)  # reads the weights in
    backend.clear()
    prefill = [batch(_ROWS * i, _ROWS) / _ROWS for i in range(_ROUNDS)]
    decode = [batch(_ROWS * _ROUNDS + i, 1) for i in range(_TOKENS)]
    # The least disturbed round: a busy neighbour must not decide.
    print(json.dumps({"decode_ms": min(decode), "prefill_ms": min(prefill)}))


if __name__ == "__main__":
    main()
