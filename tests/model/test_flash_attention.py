"""Without flash attention values lie transposed in the KV memory: they survive export and import as well."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reame_core.engine.backend import Rows
from reame_core.llama.backend import LlamaBackend, LlamaOptions

pytestmark = pytest.mark.model

BLOCK, LENGTH = 32, 96


@pytest.mark.parametrize("flash", [True, False])
def test_cells_come_back_bit_for_bit(smollm2_path: Path, flash: bool) -> None:
    options = LlamaOptions(kv_cells=256, threads=1, max_rows=64, max_outputs=8, flash_attention=flash)
    backend = LlamaBackend(smollm2_path, options)
    try:
        tokens = backend.tokenize("Every morning the ferry leaves at six, and nobody knows why. " * 12)[:LENGTH]

        def next_line() -> np.ndarray:
            rows = Rows()
            rows.add(0, LENGTH, [100], logits_from=0)
            backend.decode(rows)
            line = backend.logits()[0].copy()
            backend.truncate(0, LENGTH)
            return line

        for start in range(0, LENGTH, BLOCK):
            rows = Rows()
            rows.add(0, start, tokens[start : start + BLOCK], logits_from=BLOCK - 1)
            backend.decode(rows)
        expected = next_line()
        states = [backend.export_range(0, start, start + BLOCK) for start in range(0, LENGTH, BLOCK)]
        backend.truncate(0, 0)
        for number, state in enumerate(states):
            assert backend.import_range(0, BLOCK * number, BLOCK * (number + 1), state)
        assert np.array_equal(next_line(), expected)
    finally:
        backend.close()
