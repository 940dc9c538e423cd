"""The ``Backend`` on llama.cpp: one context, one unified KV memory, one batch."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.backend import Interrupted, ModelInfo, OutOfCells, Rows
from reame_core.errors import ConfigError, EngineError, ModelError
from reame_core.llama.bindings import AbortFlag, last_complaints, lib
from reame_core.llama.huge_pages import huge_pages
from reame_core.llama.model import LlamaModel, WeightBuffers
from reame_core.llama.vocabulary import Vocabulary

KV_TYPES = {"f16": 1, "q8_0": 8, "q4_0": 2}
_NO_ROOM, _ABORTED = 1, 2
_NEW_BYTES = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_char_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaOptions:
    """How to load a model; see docs/configuration.md."""

    kv_cells: int
    threads: int
    max_sequences: int = 38
    max_rows: int = 512
    max_outputs: int = 64
    kv_type: str = "f16"
    flash_attention: bool = True
    """Without it one row is computed otherwise than several: no shape is exact. Only for trials."""
    mmap: bool = True
    mlock: bool = False
    buffers: WeightBuffers = field(default_factory=WeightBuffers)


class LlamaBackend:
    """See ``reame_core.engine.backend.Backend``."""

    def __init__(self, path: Path, options: LlamaOptions, *, name: str = "") -> None:
        self.options = options
        self._model = LlamaModel(path, options.buffers, mmap=options.mmap, mlock=options.mlock)
        self._vocabulary = Vocabulary(self._model)
        try:
            self._context = self._open_context(options)
        except BaseException:
            self._model.close()
            raise
        self._memory = lib.llama_get_memory(self._context)
        self._abort = AbortFlag()
        self._abort.watch(self._context)
        self._open_batch(options.max_rows)
        self._outputs = 0
        self._lines = np.empty((0, self._vocabulary.size), np.float32)
        self._lines_at = 0
        self._info = self._describe(name or path.stem, options)
        self._scratch = self._info.scratch
        self._retired = self._info.usable_sequences

    def _open_context(self, options: LlamaOptions) -> Any:
        params = lib.llama_context_default_params()
        params.n_ctx = options.kv_cells
        # llama.cpp aborts the process where fewer rows or outputs than sequences are allowed.
        params.n_batch = params.n_ubatch = max(options.max_rows, options.max_sequences)
        params.n_outputs_max = max(min(options.max_outputs, options.max_rows), options.max_sequences)
        params.n_seq_max = options.max_sequences
        params.n_threads = params.n_threads_batch = options.threads
        params.kv_unified = True
        params.swa_full = True
        params.flash_attn_type = int(options.flash_attention)
        params.no_perf = True
        params.type_k = params.type_v = KV_TYPES[options.kv_type]
        last_complaints()
        with huge_pages():
            context = lib.llama_init_from_model(self._model.handle, params)
        if not context:
            reason = "; ".join(last_complaints()[-2:]) or "it gave no reason"
            if options.kv_type != "f16":
                raise ConfigError(
                    f"model.kv_cache_type = {options.kv_type!r} does not work with this model, use 'f16' "
                    f"(llama.cpp: {reason})"
                )
            raise ModelError(f"{self._model.path}: llama.cpp cannot open a context: {reason}")
        if lib.llama_pooling_type(context) != lib.LLAMA_POOLING_TYPE_NONE:
            lib.llama_free(context)
            raise ModelError(f"{self._model.path}: this is an embedding model, it generates no text")
        return context

    def _open_batch(self, rows: int) -> None:
        """Give llama.cpp a batch whose arrays are numpy's: filled without a call for each row."""
        self._tokens = np.zeros(rows, np.int32)
        self._positions = np.zeros(rows, np.int32)
        self._sequences = np.zeros(rows, np.int32)
        self._counts = np.ones(rows, np.int32)
        self._wanted = np.zeros(rows, np.int8)
        addresses = self._sequences.ctypes.data + 4 * np.arange(rows, dtype=np.uintp)
        self._sequence_pointers = addresses
        batch = lib.llama_batch()
        batch.token = self._tokens.ctypes.data_as(ctypes.POINTER(lib.llama_token))
        batch.pos = self._positions.ctypes.data_as(ctypes.POINTER(lib.llama_pos))
        batch.n_seq_id = self._counts.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        batch.seq_id = addresses.ctypes.data_as(ctypes.POINTER(ctypes.POINTER(lib.llama_seq_id)))
        batch.logits = self._wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8))
        self._batch = batch

    def _describe(self, name: str, options: LlamaOptions) -> ModelInfo:
        model, vocabulary = self._model, self._vocabulary
        special = vocabulary.special_tokens()
        bos, eos = vocabulary.bos, vocabulary.eos
        return ModelInfo(
            name=name,
            vocabulary_size=vocabulary.size,
            trained_context=int(lib.llama_model_n_ctx_train(model.handle)),
            kv_cells=int(lib.llama_n_ctx(self._context)),
            max_sequences=options.max_sequences,
            max_rows=options.max_rows,
            max_outputs=min(options.max_outputs, options.max_rows),
            bos=bos,
            adds_bos=vocabulary.adds_bos,
            end_tokens=vocabulary.end_tokens(special),
            special_tokens=special,
            chat_template=model.chat_template,
            bos_text=vocabulary.text_of(bos) if bos is not None else "",
            eos_text=vocabulary.text_of(eos) if eos is not None else "",
            partial_removal=model.keeps_positions,
            window=max(0, int(lib.llama_model_n_swa(model.handle))),
            fill_in_middle=vocabulary.fill_in_middle,
            vocabulary_type=vocabulary.type,
            threads=options.threads,
            description=model.description,
        )

    @property
    def info(self) -> ModelInfo:
        return self._info

    def tokenize(self, text: str, *, parse_special: bool = False) -> list[int]:
        return self._vocabulary.tokenize(text, parse_special=parse_special)

    def piece(self, token: int) -> bytes:
        return self._vocabulary.piece(token)

    def decode(self, rows: Rows) -> None:
        count = len(rows)
        self._tokens[:count] = rows.tokens
        self._positions[:count] = rows.positions
        self._sequences[:count] = rows.sequences
        self._wanted[:count] = rows.wanted
        self._batch.n_tokens = count
        self._outputs = rows.outputs
        self._abort.clear()
        status = lib.llama_decode(self._context, self._batch)
        if status == _NO_ROOM:
            raise OutOfCells(f"no cells for {count} rows")
        if status == _ABORTED:
            self._outputs = 0
            raise Interrupted
        if status != 0:
            reason = "; ".join(last_complaints()[-2:]) or "it gave no reason"
            raise EngineError(
                f"llama.cpp could not compute a batch of {count} rows (status {status}: {reason})"
            )

    def interrupt(self) -> None:
        self._abort.set()

    def use_threads(self, count: int) -> None:
        lib.llama_set_n_threads(self._context, count, count)

    def logits(self) -> NDArray[np.float32]:
        if self._outputs == 0:
            return self._lines[:0]
        pointer = lib.llama_get_logits(self._context)
        address = ctypes.addressof(pointer.contents)
        if address != self._lines_at or self._outputs > len(self._lines):
            self._lines = np.ctypeslib.as_array(pointer, (self._outputs, self._vocabulary.size))
            self._lines.flags.writeable = False
            self._lines_at = address
        return self._lines[: self._outputs]

    def copy(self, source: int, target: int, length: int) -> None:
        end = length if self._info.partial_removal else -1
        lib.llama_memory_seq_cp(self._memory, source, target, -1, end)

    def truncate(self, sequence: int, length: int) -> bool:
        return bool(lib.llama_memory_seq_rm(self._memory, sequence, length or -1, -1))

    def retire(self, sequence: int, length: int) -> None:
        lib.llama_memory_seq_cp(self._memory, sequence, self._retired, length, -1)
        lib.llama_memory_seq_rm(self._memory, sequence, length or -1, -1)

    def reclaim(self) -> None:
        lib.llama_memory_seq_rm(self._memory, self._retired, -1, -1)

    def covers(self, sequence: int, length: int) -> bool:
        first = lib.llama_memory_seq_pos_min(self._memory, sequence)
        return length == 0 or 0 <= first <= max(0, length - self._info.window)

    def export_range(self, sequence: int, start: int, end: int) -> bytes:
        lib.llama_memory_seq_cp(self._memory, sequence, self._scratch, *self._span(start, end))
        try:
            size = lib.llama_state_seq_get_size(self._context, self._scratch)
            state = _blank(size)
            written = lib.llama_state_seq_get_data(
                self._context, _address(np.frombuffer(state, np.uint8)), size, self._scratch
            )
            if written != size:
                raise EngineError(f"exporting positions {start} to {end} wrote {written} of {size} bytes")
            return state
        finally:
            lib.llama_memory_seq_rm(self._memory, self._scratch, -1, -1)

    def import_range(
        self, sequence: int, start: int, end: int, state: bytes | memoryview, keep: int | None = None
    ) -> bool:
        keep = end if keep is None else keep
        window = self._info.window
        if keep < end and (not self._info.partial_removal or 0 < window < end - start):
            return False
        data = np.frombuffer(state, np.uint8)
        try:
            if not lib.llama_state_seq_set_data(self._context, _address(data), len(data), self._scratch):
                return False
            first = lib.llama_memory_seq_pos_min(self._memory, self._scratch)
            last = lib.llama_memory_seq_pos_max(self._memory, self._scratch)
            # Of a sliding-window layer only the window's cells are exported.
            earliest = max(start, end - window) if window else start
            if last != end - 1 or (self._info.partial_removal and not start <= first <= earliest):
                return False
            lib.llama_memory_seq_cp(self._memory, self._scratch, sequence, *self._span(start, keep))
            return True
        finally:
            lib.llama_memory_seq_rm(self._memory, self._scratch, -1, -1)

    def _span(self, start: int, end: int) -> tuple[int, int]:
        """Recurrent memory only knows whole sequences."""
        return (start, end) if self._info.partial_removal else (-1, -1)

    def clear(self) -> None:
        lib.llama_memory_clear(self._memory, True)

    def close(self) -> None:
        if self._context:
            lib.llama_free(self._context)
            self._context = None
            self._model.close()


def _address(data: NDArray[np.uint8]) -> Any:
    return data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


def _blank(size: int) -> bytes:
    """Memory that becomes a bytes object without being copied once more: to be written before anybody sees it,
    as CPython's C API allows for a new object."""
    blank: bytes = _NEW_BYTES(None, size)
    return blank
