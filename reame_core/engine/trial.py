"""Batches computed before the first request, to learn what this model does on this host."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Sequence as Many
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.backend import Backend, Rows


class Trial:
    """``rows`` rows behind a context of ``context`` tokens, as often as wanted and in batches of any size;
    fewer of both where memory is short. ``sample`` are the tokens to take for that.

    ``backend``'s memory must be empty, and is so again behind the ``with`` block.
    """

    def __init__(self, backend: Backend, sample: Many[int], context: int, rows: int) -> None:
        self._backend = backend
        self._info = backend.info
        self.context = min(context, self._info.kv_cells // 2)
        """Tokens before the rows."""
        self._rows = min(rows, self.context)
        self._tokens = [sample[i * i % len(sample)] for i in range(self.context + self._rows)]

    def __enter__(self) -> Trial:
        try:
            self._compute_context()
        except BaseException:
            self._backend.clear()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._backend.clear()

    def _compute_context(self) -> None:
        step = min(63, self._info.max_rows)
        for start in range(0, self.context, step):
            rows = Rows()
            tokens = self._tokens[start : min(start + step, self.context)]
            rows.add(0, start, tokens, logits_from=len(tokens))
            self._backend.decode(rows)

    def fits(self, size: int) -> bool:
        """Whether the rows can be computed in batches of ``size`` rows, all with logits."""
        cells = len(range(0, self._rows, size)) * size
        most = min(self._info.max_rows, self._info.max_outputs)
        return size <= most and cells <= self._info.kv_cells - self.context

    def lines(self, size: int) -> NDArray[np.float32]:
        """(rows, vocabulary) logits of the rows, computed ``size`` rows at a time."""
        lines = []
        self._fork()
        for start in range(0, self._rows, size):
            self._backend.decode(self._batch(start, size))
            lines.append(self._backend.logits().copy())
        self._backend.truncate(1, 0)
        return np.concatenate(lines)[: self._rows]

    def milliseconds(
        self, size: int, clock: Callable[[], float] = time.perf_counter, outputs: int | None = None
    ) -> float:
        """What one batch of ``size`` rows takes, of which the last ``outputs`` want logits, or all."""
        rows = self._batch(0, size, outputs)
        self._fork()
        started = clock()
        self._backend.decode(rows)
        spent = 1000 * (clock() - started)
        self._backend.truncate(1, 0)
        return spent

    def _fork(self) -> None:
        """The context once more, as sequence 1: that can be dropped whole, which every model can."""
        self._backend.copy(0, 1, self.context)

    def _batch(self, start: int, size: int, outputs: int | None = None) -> Rows:
        """Always a whole batch: the last one reaches past the rows that are wanted."""
        first = self.context + start
        tokens = [self._tokens[min(i, len(self._tokens) - 1)] for i in range(first, first + size)]
        rows = Rows()
        rows.add(1, first, tokens, logits_from=0 if outputs is None else size - outputs)
        return rows
