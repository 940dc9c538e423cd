"""An answer as a value in the store, compressed where that is worth it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import zstandard

import reame_core.answers as known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_core.plugins.api import AnsweredChoice

_LEVEL = 1
_WORTH_COMPRESSING = 512
_RAW, _ZSTD = b"r", b"z"
MOST_RAW_BYTES = 64 * 1024 * 1024
"""Of a record before it is compressed."""


def encode(material: bytes, made_at: float, answer: Sequence[AnsweredChoice]) -> bytes:
    """The record of ``answer``; of none where it is empty."""
    raw = known.encode(material, made_at, answer)
    if len(raw) < _WORTH_COMPRESSING:
        return _RAW + raw
    return _ZSTD + zstandard.ZstdCompressor(level=_LEVEL).compress(raw)


def decode(payload: bytes) -> known.Record | None:
    """None for anything that is no record."""
    kind, body = payload[:1], payload[1:]
    try:
        if kind == _ZSTD:
            if not 0 <= zstandard.frame_content_size(body) <= MOST_RAW_BYTES:
                return None
            body = zstandard.ZstdDecompressor().decompress(body)
        elif kind != _RAW:
            return None
    except (zstandard.ZstdError, MemoryError):
        return None
    return known.decode(body)
