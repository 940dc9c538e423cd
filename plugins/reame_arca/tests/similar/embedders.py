"""Embedding models that are not models."""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

DIMENSION = 32


class BagOfWords:
    """Texts with the same words have the same vector, whatever their order and their capitals. ``spoil`` makes
    something else of it."""

    name = "bag of words"
    fingerprint = "bag of words"
    dimension = DIMENSION

    def __init__(self, spoil: Callable[[NDArray[np.float32]], object] | None = None) -> None:
        self.texts: list[str] = []
        self.begun = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        self._spoil = spoil

    def embed(self, text: str) -> NDArray[np.float32] | None:
        self.begun.set()
        self.gate.wait(60)
        self.texts.append(text)
        words = text.lower().replace("?", "").split()
        if len(words) > 20:
            return None
        vector = np.sum([_of_word(word) for word in words], axis=0)
        vector = (vector / np.linalg.norm(vector)).astype(np.float32)
        return vector if self._spoil is None else self._spoil(vector)  # type: ignore[return-value]


def _of_word(word: str) -> NDArray[np.float32]:
    seed = int.from_bytes(blake2b(word.encode(), digest_size=4).digest(), "little")
    return np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
