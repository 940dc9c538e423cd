"""Compression of exported cells.

Half-precision numbers have a high byte with sign, exponent and two bits of the fraction, and a low byte that
is noise. So only the high bytes are compressed; the low ones are stored as they are, which is faster than
letting the compressor find out. What does not become smaller (quantised caches) is stored whole.

The high bytes are compressed piece by piece, so that a piece is still in the processor's cache when it is put
together with its low bytes.
"""

from __future__ import annotations

import numpy as np
import zstandard
from numpy.typing import NDArray

from reame_diskkv.scratch import Scratch

WHOLE, SPLIT = 0, 1
PIECE = 128 << 10
"""High bytes in one frame."""
WORTH_IT = 0.97
"""Stored compressed from this share of the original size downwards."""
_FAILURES_BEFORE_RARE, _RARELY = 8, 64
_FRAME_SIZE = np.dtype("<u4")

Bytes = bytes | memoryview


class Compressor:
    """For one thread. Tries less and less often where it does not pay."""

    def __init__(self, level: int = 1) -> None:
        self._zstd = zstandard.ZstdCompressor(level=level, write_content_size=True)
        self._high = np.empty(PIECE, np.uint8)
        self._failures = 0

    def compress(self, state: bytes) -> tuple[int, list[Bytes]]:
        """(codec, the parts of the payload)."""
        if self._failures < _FAILURES_BEFORE_RARE or self._failures % _RARELY == 0:
            parts = self._split(state)
            if sum(map(len, parts)) <= WORTH_IT * len(state):
                self._failures = 0
                return SPLIT, parts
        self._failures += 1
        return WHOLE, [state]

    def _split(self, state: bytes) -> list[Bytes]:
        """Sizes of the frames, the low bytes, the frames."""
        pairs = np.frombuffer(state, "<u2", len(state) // 2)
        low, high = np.empty(len(pairs), np.uint8), self._high
        frames = []
        for start in range(0, len(pairs), PIECE):
            piece = pairs[start : start + PIECE]
            np.copyto(low[start : start + PIECE], piece, casting="unsafe")
            np.right_shift(piece, 8, out=high[: len(piece)], casting="unsafe")
            frames.append(self._zstd.compress(high[: len(piece)].data))
        sizes = np.array([len(frame) for frame in frames], _FRAME_SIZE)
        return [sizes.tobytes(), low.data, state[2 * len(pairs) :], *frames]


class Decompressor:
    """For one thread. What it gives is a view of memory of its own, valid until it is asked again: fresh memory
    would cost more than decompressing into it."""

    def __init__(self) -> None:
        self._zstd = zstandard.ZstdDecompressor()
        self._scratch = Scratch()
        self._high = np.empty(PIECE, np.uint8)

    def reserve(self, length: int) -> None:
        """Get memory for states of ``length`` bytes, and what the first of them would wait for besides."""
        self._scratch.reserve(length)
        self._unpacked(memoryview(zstandard.compress(bytes(PIECE))), PIECE)

    def decompress(self, codec: int, payload: memoryview, length: int) -> memoryview:
        """The state of ``length`` bytes. Raises ValueError for what is no such payload."""
        if codec == WHOLE:
            if len(payload) != length:
                raise ValueError(f"{len(payload)} bytes instead of {length}")
            return payload
        if codec != SPLIT:
            raise ValueError(f"unknown codec {codec}")
        highs, lows = length // 2, (length + 1) // 2
        # Sizes are compared before anything is allocated for them.
        sizes = np.frombuffer(payload, _FRAME_SIZE, -(-highs // PIECE))
        if sizes.nbytes + lows + int(sizes.sum(dtype=np.uint64)) != len(payload):
            raise ValueError("sizes that do not agree")
        low = np.frombuffer(payload, np.uint8, lows, sizes.nbytes)
        return self._joined(low, payload[sizes.nbytes + lows :], sizes.tolist(), highs)

    def _joined(self, low: NDArray[np.uint8], frames: memoryview, sizes: list[int], highs: int) -> memoryview:
        pairs, begin = self._scratch.of(2 * len(low)).view("<u2"), 0
        for start, size in zip(range(0, highs, PIECE), sizes, strict=True):
            end = min(start + PIECE, highs)
            high = self._unpacked(frames[begin : begin + size], end - start)
            begin += size
            np.left_shift(high, 8, out=pairs[start:end], dtype="<u2")
            pairs[start:end] |= low[start:end]
        pairs[highs:] = low[highs:]
        return pairs.view(np.uint8)[: highs + len(low)].data

    def _unpacked(self, frame: memoryview, length: int) -> NDArray[np.uint8]:
        """The piece in ``frame``; valid until the next one."""
        high = self._high[:length]
        try:
            # A frame may claim to be of any size.
            if zstandard.frame_content_size(frame) != length:
                raise ValueError("a frame of another size")
            with self._zstd.stream_reader(frame, read_size=len(frame)) as reader:
                count = reader.readinto(high.data)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
        if count != length:
            raise ValueError(f"{count} bytes instead of {length}")
        return high
