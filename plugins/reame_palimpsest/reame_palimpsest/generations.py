"""One answer as the archive keeps it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int32]

KEPT_CONTEXT = 64
"""Tokens of the prompt's end that are kept with an answer, so that its beginning can be found."""
LONGEST_MATCH = 64
"""Matches are not compared further back than this."""
SEPARATOR = 0xFFFFFFFF
"""Stands between generations wherever several lie behind one another; no token is as large."""
KEY_BITS = 62
MOST_TOKENS = 1 << 20
"""In one generation: far more than any context holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """The end of a prompt and the answer to it."""

    tokens: Tokens
    """(context + answer,) not negative."""
    answer_start: int
    """Where the answer begins in ``tokens``; more tokens than that follow."""
    prompt_key: int
    """Stands for the model and its whole prompt: ``KEY_BITS`` bits."""
    time: int
    """Of its end, in seconds since 1970."""

    def __post_init__(self) -> None:
        if not 0 <= self.answer_start < len(self.tokens) <= MOST_TOKENS:
            raise ValueError(f"no answer in {len(self.tokens)} tokens from {self.answer_start} on")

    @property
    def answer(self) -> Tokens:
        return self.tokens[self.answer_start :]


def generation(tokens: Tokens, prompt_length: int, prompt_key: int, time: int) -> Generation:
    """What is kept of ``tokens``, prompt and answer. Copies."""
    start = max(0, prompt_length - KEPT_CONTEXT)
    return Generation(tokens[start : start + MOST_TOKENS].copy(), prompt_length - start, prompt_key, time)


def prompt_key(model: str, prompt: Tokens) -> int:
    """The key of ``prompt`` for one model; 20 microseconds for 4,000 tokens."""
    digest = hashlib.blake2b(prompt.astype("<i4", copy=False).tobytes(), digest_size=8, person=b"reame-prompt")
    digest.update(model.encode())
    return int.from_bytes(digest.digest()) >> (64 - KEY_BITS)


def content_id(generation: Generation) -> bytes:
    """16 bytes that are the same for the same answer to the same prompt, whenever it was given."""
    digest = hashlib.blake2b(generation.tokens.astype("<i4", copy=False).tobytes(), digest_size=16)
    digest.update(b"%d %d" % (generation.prompt_key, generation.answer_start))
    return digest.digest()
