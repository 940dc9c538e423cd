"""Names of blocks: a hash over everything that decides what the cells of a block hold.

The key of a block is the hash of its parent's key and its own tokens; the first block's parent is a root, the
hash of the namespace (model, cache types, build, ...), the tenant and the size of blocks. So equal keys
mean equal prompts up to there, on the same model, for the same tenant, in any process and after any restart.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

KEY_BYTES = 20
TOKEN_BYTES = 4
_ROOT_CONTEXT = "reame-diskkv 1: root of a chain of blocks"


def encode(tokens: NDArray[np.int32]) -> bytes:
    """Tokens as bytes whose order is that of the tokens, so that an index finds neighbours."""
    return tokens.astype(">u4").tobytes()


def decode(data: bytes) -> list[int]:
    """The tokens that ``encode`` was given."""
    tokens: list[int] = np.frombuffer(data, ">u4").tolist()
    return tokens


def root_key(namespace: Mapping[str, str], tenant: str, block_tokens: int) -> bytes:
    """The parent of all first blocks."""
    digest = blake3(derive_key_context=_ROOT_CONTEXT)
    items = [*sorted(namespace.items()), ("tenant", tenant), ("block tokens", str(block_tokens))]
    for text in (part for item in items for part in item):
        data = text.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest(length=KEY_BYTES)


def child_key(parent: bytes, tokens: bytes) -> bytes:
    """The key of the block of ``tokens`` (encoded) behind ``parent``."""
    return blake3(parent + tokens).digest(length=KEY_BYTES)


def common_tokens(a: bytes, b: bytes) -> int:
    """How many tokens two encoded texts have in common at the beginning."""
    size = min(len(a), len(b))
    if a[:size] == b[:size]:
        return size // TOKEN_BYTES
    differing = np.frombuffer(a, ">u4", size // TOKEN_BYTES) != np.frombuffer(b, ">u4", size // TOKEN_BYTES)
    return int(differing.argmax())
