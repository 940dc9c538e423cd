"""The least that decoding can cost: ``llama_decode`` in a loop, on a backend's own context."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from reame_core.llama.backend import LlamaBackend
from reame_core.llama.bindings import lib


class BareLoop:
    """Written as one would without an engine: its own ``llama_batch``, filled through numpy views."""

    def __init__(self, backend: LlamaBackend) -> None:
        self._backend = backend
        self._context = backend._context
        rows = backend.info.max_rows
        self._batch = lib.llama_batch_init(rows, 0, 1)
        self._tokens = np.ctypeslib.as_array(self._batch.token, (rows,))
        self._positions = np.ctypeslib.as_array(self._batch.pos, (rows,))
        self._wanted = np.ctypeslib.as_array(self._batch.logits, (rows,))
        np.ctypeslib.as_array(self._batch.n_seq_id, (rows,))[:] = 1
        self._sequences = [self._batch.seq_id[row] for row in range(rows)]

    def close(self) -> None:
        lib.llama_batch_free(self._batch)

    def clear(self) -> None:
        self._backend.clear()

    def decode(self, tokens: Sequence[int], position: int, sequence: int = 0, *, logits: bool = True) -> None:
        """One chunk of one sequence; its last row yields logits."""
        count = len(tokens)
        self._tokens[:count] = tokens
        self._positions[:count] = np.arange(position, position + count)
        self._wanted[:count] = 0
        self._wanted[count - 1] = logits
        for row in range(count):
            self._sequences[row][0] = sequence
        self._call(count)

    def decode_users(self, tokens: Sequence[int], position: int) -> None:
        """One row for each of several sequences, 0 and up, all at ``position``."""
        count = len(tokens)
        self._tokens[:count] = tokens
        self._positions[:count] = position
        self._wanted[:count] = 1
        for row in range(count):
            self._sequences[row][0] = row
        self._call(count)

    def _call(self, count: int) -> None:
        self._batch.n_tokens = count
        status = lib.llama_decode(self._context, self._batch)
        if status != 0:
            raise RuntimeError(f"llama_decode of {count} rows: status {status}")

    def logits(self) -> NDArray[np.float32]:
        """(vocabulary,) of the first row that wanted them."""
        pointer = lib.llama_get_logits(self._context)
        return np.ctypeslib.as_array(pointer, (self._backend.info.vocabulary_size,))

    def prefill(self, prompt: Sequence[int], chunks: Sequence[int], sequence: int = 0) -> float:
        """Seconds for ``prompt`` in batches of these sizes and the argmax behind it."""
        started = time.perf_counter()
        done = 0
        for size in chunks:
            self.decode(prompt[done : done + size], done, sequence, logits=done + size == len(prompt))
            done += size
        self.logits().argmax()
        return time.perf_counter() - started

    def greedy(self, first: int, position: int, count: int) -> Iterator[int]:
        """Compute ``first`` at ``position`` and choose ``count`` tokens, one after another."""
        token = first
        logits = self.logits()
        for offset in range(count):
            self.decode((token,), position + offset)
            token = int(logits.argmax())
            yield token

    def replay(self, tokens: Sequence[int], position: int) -> Iterator[int]:
        """Compute ``tokens`` one by one without looking at any logits."""
        for offset, token in enumerate(tokens):
            self.decode((token,), position + offset)
            yield token
