"""The child process of ``trials``: measures one setup and prints its speed. It may crash.

Reads a JSON object, the path of a model and the fields of ``Setup``, from standard input.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from reame_core.engine.backend import Rows
from reame_core.llama.trials import DRAFT_ROWS

_BEFORE, _ROUNDS, _TOKENS = 256, 2, 10
_DRAFTS = 3


def main() -> None:
    """Measure and print."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    job = json.load(sys.stdin)
    from reame_core.llama.backend import LlamaBackend, LlamaOptions
    from reame_core.llama.model import WeightBuffers

    prompt_rows = job["batch_rows"]
    backend = LlamaBackend(
        Path(job["path"]),
        LlamaOptions(
            kv_cells=max(_BEFORE, _ROUNDS * prompt_rows) + 256,
            threads=job["threads"],
            max_sequences=3,
            max_rows=max(prompt_rows, DRAFT_ROWS),
            max_outputs=DRAFT_ROWS,
            kv_type=job["kv_type"],
            flash_attention=job["flash_attention"],
            buffers=WeightBuffers(job["buffers"]["extra"], tuple(job["buffers"]["repacked"])),
        ),
    )

    def batch(position: int, count: int, *, logits_from: int | None = None) -> float:
        rows = Rows()
        tokens = [100 + (position + i) % 1000 for i in range(count)]
        rows.add(0, position, tokens, logits_from=count - 1 if logits_from is None else logits_from)
        started = time.perf_counter()
        backend.decode(rows)
        return 1000 * (time.perf_counter() - started)

    batch(0, 8)  # reads the weights in
    backend.clear()
    rounds = max(_ROUNDS, -(-_BEFORE // prompt_rows))
    prefill = [batch(prompt_rows * i, prompt_rows) / prompt_rows for i in range(rounds)]
    decode = [batch(prompt_rows * rounds + i, 1) for i in range(_TOKENS)]
    behind = prompt_rows * rounds + _TOKENS
    drafts = [batch(behind + DRAFT_ROWS * i, DRAFT_ROWS, logits_from=0) for i in range(_DRAFTS)]
    # The least disturbed round: a busy neighbour must not decide.
    speed = {"decode_ms": min(decode), "prefill_ms": min(prefill), "draft_ms": min(drafts)}
    print(json.dumps(speed))


if __name__ == "__main__":
    main()
