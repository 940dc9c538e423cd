"""Compression of exported cells.

Half-precision numbers have a high byte with sign, exponent and two bits of the fraction, and a low byte that
is noise. So only the high bytes are compressed; the low ones are stored as they are, which is faster than
letting the compressor find out. What does not become smaller (quantised caches) is stored whole.
"""

from __future__ import annotations

import numpy as np
import zstandard
from numpy.typing import NDArray

WHOLE, SPLIT = 0, 1
WORTH_IT = 0.97
"""Stored compressed from this share of the original size downwards."""
_FAILURES_BEFORE_RARE, _RARELY = 8, 64

Bytes = bytes | memoryview


class Compressor:
    """For one thread. Tries less and less often where it does not pay."""

    def __init__(self, level: int = 1) -> None:
        self._zstd = zstandard.ZstdCompressor(level=level, write_content_size=True)
        self._failures = 0

    def compress(self, state: bytes) -> tuple[int, list[Bytes]]:
        """(codec, the parts of the payload)."""
        if self._failures < _FAILURES_BEFORE_RARE or self._failures % _RARELY == 0:
            pairs = np.frombuffer(state, np.uint8)
            high = self._zstd.compress(np.ascontiguousarray(pairs[1::2]).data)
            low = np.ascontiguousarray(pairs[0::2])
            if len(high) + len(low) <= WORTH_IT * len(state):
                self._failures = 0
                return SPLIT, [low.data, high]
        self._failures += 1
        return WHOLE, [state]


class Decompressor:
    """For one thread. What it gives is a view of memory of its own, valid until it is asked again: fresh memory
    would cost more than decompressing into it."""

    def __init__(self) -> None:
        self._zstd = zstandard.ZstdDecompressor()
        self._high = np.empty(0, np.uint8)
        self._pairs = np.empty(1, "<u2")

    def decompress(self, codec: int, payload: memoryview, length: int) -> memoryview:
        """The state of ``length`` bytes. Raises ValueError for what is no such payload."""
        if codec == WHOLE:
            if len(payload) != length:
                raise ValueError(f"{len(payload)} bytes instead of {length}")
            return payload
        if codec != SPLIT:
            raise ValueError(f"unknown codec {codec}")
        lows = (length + 1) // 2
        low = np.frombuffer(payload[:lows], np.uint8)
        frame = payload[lows:]
        try:
            # Asked before anything is allocated: a frame may claim to be of any size.
            if len(low) != lows or zstandard.frame_content_size(frame) != length // 2:
                raise ValueError("sizes that do not agree")
            high = self._unpacked(frame, length // 2)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
        return self._joined(low, high)

    def _unpacked(self, frame: memoryview, length: int) -> NDArray[np.uint8]:
        if len(self._high) < length:
            self._high = np.empty(length, np.uint8)
            self._pairs = np.empty(length + 1, "<u2")
        high = self._high[:length]
        done = 0
        with self._zstd.stream_reader(frame, read_across_frames=False) as reader:
            while done < length and (count := reader.readinto(high[done:].data)):
                done += count
        if done != length:
            raise ValueError(f"{done} bytes instead of {length}")
        return high

    def _joined(self, low: NDArray[np.uint8], high: NDArray[np.uint8]) -> memoryview:
        pairs = self._pairs[: len(low)]
        whole = pairs[: len(high)]
        np.left_shift(high, 8, out=whole, dtype="<u2")
        whole |= low[: len(high)]
        pairs[len(high) :] = low[len(high) :]
        return pairs.view(np.uint8)[: len(low) + len(high)].data
