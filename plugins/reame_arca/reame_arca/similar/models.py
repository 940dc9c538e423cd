"""Embedding models by name."""

from __future__ import annotations

from collections.abc import Mapping

MODELS: Mapping[str, Mapping[str, object]] = {
    "all-minilm-l6-v2": {
        "source": "hf:second-state/All-MiniLM-L6-v2-Embedding-GGUF:all-MiniLM-L6-v2-Q8_0.gguf",
        "quantisation": "Q8_0",
        "parameters": 22_600_000,
        "size": 25_000_000,
        "context": 512,
        "licence": "Apache-2.0",
        "suits": "embeddings for plugins.arca.similar; it generates no text",
    }
}
