"""A backend whose KV memory is real: what a cell holds was computed from the cells it attended to.

A cell's value is a hash of its token, its position and the values of all cells of its sequence before it,
so one wrong, missing, foreign or misplaced cell changes every later logit. Tests that pass here have
restored, shared, removed and recomputed exactly the right cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.backend import Interrupted, ModelInfo, OutOfCells, Rows
from reame_core.errors import EngineError
from reame_core.testing import fake_vocabulary as vocabulary

_MIX = np.uint64(0x9E3779B97F4A7C15)
_MASK = (1 << 64) - 1
_MAGIC = b"fake KV cells\n"
_STATE = np.dtype([("token", "<i8"), ("position", "<i8"), ("value", "<u8")])
_ASSISTANT_TURN = 1 + len(vocabulary.tokenize("assistant\n"))

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def _hash(value: int, salt: int) -> int:
    value = (value ^ (salt * 0xBF58476D1CE4E5B9)) & _MASK
    value = ((value ^ (value >> 31)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 29)


def _parts(rows: Rows) -> list[tuple[int, int]]:
    """(rows, position of the first) of each sequence in turn."""
    runs = groupby(zip(rows.sequences, rows.positions, strict=True), key=itemgetter(0))
    positions = [[position for _, position in run] for _, run in runs]
    return [(len(run), run[0]) for run in positions]


class FakeClock:
    """A clock that only moves when told to. ``milliseconds`` a batch of k rows costs, by default 10 + k; what
    its parts (rows of one sequence, and the cells that this has before them) attend to costs ``attention``, by
    default nothing (see ``AttentionModel``), and so do the ``logits`` of k rows."""

    def __init__(
        self,
        milliseconds: Callable[[int], float] = lambda rows: 10.0 + rows,
        attention: Callable[[Sequence[tuple[int, int]]], float] = lambda parts: 0.0,
        logits: Callable[[int], float] = lambda outputs: 0.0,
    ) -> None:
        self.now = 0.0
        self.milliseconds = milliseconds
        self.attention = attention
        self.logits = logits

    def __call__(self) -> float:
        return self.now

    def batch(self, rows: int, parts: Sequence[tuple[int, int]] = (), outputs: int = 0) -> None:
        self.now += (self.milliseconds(rows) + self.attention(parts) + self.logits(outputs)) / 1000


class FakeBackend:
    """See the module's docstring.

    ``replies`` maps a text to what the model says after it (then it ends its turn); elsewhere the model
    babbles deterministically. ``window`` makes it a sliding-window model, ``recurrent`` one that cannot
    drop part of a sequence. ``fail_on`` are the numbers of the ``decode`` calls (from 0) that fail. With
    ``order_matters`` the cells attended to count in the order in which they lie, as in half precision.
    Another model with the same vocabulary has other ``weights``.
    ``during_decode`` is called in the middle of each ``decode`` with its number, as another thread might act
    then.
    """

    def __init__(
        self,
        *,
        cells: int = 512,
        max_sequences: int = 16,
        max_rows: int = 64,
        max_outputs: int = 64,
        window: int = 0,
        recurrent: bool = False,
        replies: Mapping[str, str] | None = None,
        fail_on: Iterable[int] = (),
        clock: FakeClock | None = None,
        end_bias: float = -2.0,
        threads: int = 1,
        weights: int = 0,
        order_matters: bool = False,
        during_decode: Callable[[int], None] | None = None,
    ) -> None:
        self._info = ModelInfo(
            name="fake",
            vocabulary_size=vocabulary.SIZE,
            trained_context=cells,
            kv_cells=cells,
            max_sequences=max_sequences,
            max_rows=max_rows,
            max_outputs=max_outputs,
            bos=vocabulary.BOS,
            adds_bos=True,
            end_tokens=frozenset({vocabulary.EOS, vocabulary.TURN_END}),
            special_tokens=dict(vocabulary.SPECIALS),
            chat_template=CHATML,
            bos_text="<s>",
            eos_text="</s>",
            vocabulary_type="fake",
            partial_removal=not recurrent,
            window=window,
            threads=threads,
            description="a deterministic fake",
        )
        self._tokens = np.zeros(cells, np.int64)
        self._positions = np.zeros(cells, np.int64)
        self._values = np.zeros(cells, np.uint64)
        self._owners = np.zeros((cells, max_sequences), bool)
        self._replies = [
            (vocabulary.tokenize(key), [*vocabulary.tokenize(reply), vocabulary.EOS])
            for key, reply in (replies or {}).items()
        ]
        self.weights = weights
        self._fail_on = set(fail_on)
        self._during_decode = during_decode
        self._interrupted = False
        self.clock = clock
        self._order_matters = order_matters
        self._multipliers = np.array(
            [_hash(token + 1, 77) | 1 for token in range(vocabulary.SIZE)], dtype=np.uint64
        )
        self._bias = self._natural_bias(end_bias)
        self._logits = np.zeros((0, vocabulary.SIZE), np.float32)
        self.threads = self._info.threads
        self.decodes = 0
        self.rows_computed = 0
        self.row_counts: list[int] = []
        self.closed = False

    @staticmethod
    def _natural_bias(end_bias: float) -> NDArray[np.float32]:
        bias = np.full(vocabulary.SIZE, -8.0, np.float32)
        bias[list(b"abcdefghijklmnopqrstuvwxyz ")] = 0.0
        bias[list(b".,\n0123456789")] = -1.0
        bias[vocabulary.FIRST_MERGE :] = -1.0
        bias[list("é".encode())] = -2.0
        bias[[vocabulary.EOS, vocabulary.TURN_END]] = end_bias
        return bias

    @property
    def info(self) -> ModelInfo:
        return self._info

    def tokenize(self, text: str, *, parse_special: bool = False) -> list[int]:
        return vocabulary.tokenize(text, parse_special=parse_special)

    def piece(self, token: int) -> bytes:
        return vocabulary.piece(token)

    def decode(self, rows: Rows) -> None:
        call = self.decodes
        self.decodes += 1
        if len(rows) > self._info.max_rows:
            raise AssertionError(f"{len(rows)} rows, the backend takes {self._info.max_rows}")
        if rows.outputs > self._info.max_outputs:
            raise AssertionError(f"{rows.outputs} outputs, the backend gives {self._info.max_outputs}")
        free = np.flatnonzero(~self._owners.any(axis=1))
        if len(free) < len(rows):
            raise OutOfCells(f"{len(rows)} rows, {len(free)} free cells")
        self._check_positions(rows)
        self._interrupted = False
        if self._during_decode:
            self._during_decode(call)
        if self._interrupted:
            raise Interrupted
        if self.clock:
            self.clock.batch(len(rows), _parts(rows), rows.outputs)
        lines = []
        for index in range(len(rows)):
            cell, sequence = free[index], rows.sequences[index]
            self._tokens[cell] = rows.tokens[index]
            self._positions[cell] = rows.positions[index]
            attended = self._attended(sequence, rows.positions[index])
            self._owners[cell, sequence] = True
            if call in self._fail_on and index == len(rows) // 2:
                raise EngineError("the fake backend was told to fail here")
            self._values[cell] = self._value(cell, attended)
            if rows.wanted[index]:
                lines.append(self._line(cell, attended))
        self.rows_computed += len(rows)
        self.row_counts.append(len(rows))
        self._logits = np.array(lines, np.float32).reshape(len(lines), vocabulary.SIZE)
        self._logits.flags.writeable = False

    def interrupt(self) -> None:
        if not self._info.partial_removal:
            raise AssertionError("a recurrent sequence would be lost")
        self._interrupted = True

    def use_threads(self, count: int) -> None:
        self.threads = count

    def _check_positions(self, rows: Rows) -> None:
        following = {sequence: self.length(sequence) for sequence in set(rows.sequences)}
        for sequence, position in zip(rows.sequences, rows.positions, strict=True):
            if position != following[sequence]:
                raise AssertionError(
                    f"sequence {sequence} has {following[sequence]} cells, a row came for position {position}"
                )
            following[sequence] += 1

    def _attended(self, sequence: int, position: int) -> NDArray[np.intp]:
        mine = self._owners[:, sequence] & (self._positions < position)
        if self._info.window:
            mine &= self._positions > position - self._info.window
        return np.flatnonzero(mine)

    def _value(self, cell: int, attended: NDArray[np.intp]) -> np.uint64:
        mixed = self._values[attended] * (
            self._positions[attended].astype(np.uint64) * np.uint64(2) + np.uint64(1)
        )
        if self._order_matters:
            mixed = mixed * (np.arange(len(mixed), dtype=np.uint64) * np.uint64(2) + np.uint64(1))
        context = int(np.bitwise_xor.reduce(mixed * _MIX)) if len(mixed) else 0
        token, position = int(self._tokens[cell]) + 1, int(self._positions[cell]) + 1
        return np.uint64(_hash(_hash(context, token + 1_000_003 * self.weights), position))

    def _line(self, cell: int, attended: NDArray[np.intp]) -> NDArray[np.float32]:
        noise = (self._values[cell] * self._multipliers) >> np.uint64(40)
        line: NDArray[np.float32] = noise.astype(np.float32) / np.float32(1 << 24) * np.float32(6) + self._bias
        expected = self._scripted(cell, attended)
        if expected is not None:
            line[expected] += 60
        return line

    def _scripted(self, cell: int, attended: NDArray[np.intp]) -> int | None:
        if not self._replies:
            return None
        order = attended[np.argsort(self._positions[attended])]
        tokens = [*self._tokens[order].tolist(), int(self._tokens[cell])]
        for key, reply in self._replies:
            for start in range(len(tokens) - len(key), -1, -1):
                if tokens[start : start + len(key)] == key:
                    said = tokens[start + len(key) :]
                    if vocabulary.TURN_START in said:  # past the rest of the chat template
                        said = said[said.index(vocabulary.TURN_START) + _ASSISTANT_TURN :]
                    if said == reply[: len(said)] and len(said) < len(reply):
                        return reply[len(said)]
                    break
        return None

    def logits(self) -> NDArray[np.float32]:
        return self._logits

    def copy(self, source: int, target: int, length: int) -> None:
        if self._owners[:, target].any():
            raise AssertionError(f"sequence {target} is not empty")
        if not self._info.partial_removal and length != self.length(source):
            raise AssertionError("a recurrent sequence can only be copied whole")
        self._owners[:, target] = self._owners[:, source] & (self._positions < length)

    def truncate(self, sequence: int, length: int) -> bool:
        if not self._info.partial_removal and 0 < length < self.length(sequence):
            return False
        self._owners[self._positions >= length, sequence] = False
        return True

    def retire(self, sequence: int, length: int) -> None:
        going = self._owners[:, sequence] & (self._positions >= length)
        self._owners[going, self._info.usable_sequences] = True
        self._owners[going, sequence] = False

    def reclaim(self) -> None:
        self._owners[:, self._info.usable_sequences] = False

    def covers(self, sequence: int, length: int) -> bool:
        held = np.sort(self._positions[self._owners[:, sequence]])[:length]
        return len(held) == length and (length == 0 or held[-1] == length - 1)

    def export_range(self, sequence: int, start: int, end: int) -> bytes:
        if not self._info.partial_removal and (start, end) != (0, self.length(sequence)):
            raise AssertionError("a recurrent sequence can only be exported whole")
        cells = self._of_range(sequence, start, end)
        state = np.empty(len(cells), _STATE)
        state["token"], state["position"] = self._tokens[cells], self._positions[cells]
        state["value"] = self._values[cells]
        return _MAGIC + state.tobytes()

    def _of_range(self, sequence: int, start: int, end: int) -> NDArray[np.intp]:
        mine = self._owners[:, sequence] & (self._positions >= start) & (self._positions < end)
        cells = np.flatnonzero(mine)
        return cells[np.argsort(self._positions[cells])]

    def import_range(
        self, sequence: int, start: int, end: int, state: bytes | memoryview, keep: int | None = None
    ) -> bool:
        keep = end if keep is None else keep
        if state[: len(_MAGIC)] != _MAGIC or (len(state) - len(_MAGIC)) % _STATE.itemsize:
            return False
        rows = np.frombuffer(state, _STATE, offset=len(_MAGIC))
        free = np.flatnonzero(~self._owners.any(axis=1))
        if rows["position"].tolist() != list(range(start, end)) or self.length(sequence) != start:
            return False
        if len(free) < len(rows) or (start and not self._info.partial_removal):
            return False
        if not self._divides(start, end, keep):
            return False
        rows = rows[: keep - start]
        cells = free[: len(rows)]
        self._tokens[cells], self._positions[cells] = rows["token"], rows["position"]
        self._values[cells] = rows["value"]
        self._owners[cells, sequence] = True
        return True

    def _divides(self, start: int, end: int, keep: int) -> bool:
        """llama.cpp exports only the window's cells of a sliding-window layer: a part of those has gaps."""
        window = self._info.window
        return keep == end or (self._info.partial_removal and (not window or end - start <= window))

    def clear(self) -> None:
        self._owners[:] = False

    def close(self) -> None:
        self.closed = True

    def length(self, sequence: int) -> int:
        """Cells that ``sequence`` has; for tests."""
        return int(self._owners[:, sequence].sum())

    def used_cells(self) -> int:
        """Cells that belong to any sequence; for tests."""
        return int(self._owners.any(axis=1).sum())
