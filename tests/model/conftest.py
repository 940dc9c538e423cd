"""Real models. SmolLM2 comes with the ``demo`` extra; others are used where a folder of GGUF files is named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.models.catalogue import resolve


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    return resolve("smollm2-135m").path


@pytest.fixture(scope="module")
def smollm2(smollm2_path: Path) -> Iterator[LlamaBackend]:
    """One thread and at most 63 rows: any two batches compute bit-identical rows, wherever the cells lie."""
    backend = LlamaBackend(smollm2_path, LlamaOptions(kv_cells=2048, threads=1, max_rows=63, max_outputs=63))
    yield backend
    backend.close()


@pytest.fixture(scope="session")
def other_model() -> object:
    """A function from a model's name to its path; skips where ``REAME_TEST_MODELS`` has no such file."""

    def find(name: str) -> Path:
        folder = os.environ.get("REAME_TEST_MODELS")
        path = Path(folder or ".", f"{name}.gguf")
        if folder is None or not path.exists():
            pytest.skip(f"REAME_TEST_MODELS names no folder with {name}.gguf")
        return path

    return find
