"""Texts to vectors, by an embedding model on llama.cpp."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reame_core.errors import EngineError, ModelError
from reame_core.llama.bindings import last_complaints, lib
from reame_core.llama.model import LlamaModel, WeightBuffers
from reame_core.llama.vocabulary import Vocabulary

_POOLED = {lib.LLAMA_POOLING_TYPE_MEAN, lib.LLAMA_POOLING_TYPE_CLS, lib.LLAMA_POOLING_TYPE_LAST}


class LlamaEmbedder:
    """See ``reame_core.plugins.api.Embedder``. One text at a time: whoever comes meanwhile waits.

    It computes with one thread, the caller's: more would be a team of OpenMP's beside the engine's (see
    ``passing_thread``), and a question is a matter of milliseconds.
    """

    def __init__(self, path: Path, *, name: str, fingerprint: str, most_tokens: int) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self._model = LlamaModel(path, WeightBuffers())
        self._vocabulary = Vocabulary(self._model)
        self._most_tokens = min(most_tokens, int(lib.llama_model_n_ctx_train(self._model.handle)))
        self.dimension = int(lib.llama_model_n_embd_out(self._model.handle))
        self._lock = threading.Lock()
        self._context: Any = None
        try:
            self._context = self._open_context()
            self._memory = lib.llama_get_memory(self._context)
        except BaseException:
            self.close()
            raise

    def _open_context(self) -> Any:
        params = lib.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = self._most_tokens
        params.n_seq_max = params.n_threads = params.n_threads_batch = 1
        params.embeddings = True
        params.no_perf = True
        last_complaints()
        context = lib.llama_init_from_model(self._model.handle, params)
        if not context:
            reason = "; ".join(last_complaints()[-2:]) or "it gave no reason"
            raise ModelError(f"{self._model.path}: llama.cpp cannot open a context: {reason}")
        if lib.llama_pooling_type(context) not in _POOLED:
            lib.llama_free(context)
            raise ModelError(f"{self._model.path}: this is no embedding model: it makes no vector of a text")
        return context

    def embed(self, text: str) -> NDArray[np.float32] | None:
        with self._lock:
            if not self._context:
                raise EngineError(f"the embedding model {self.name} is closed")
            tokens = self._vocabulary.tokenize(text, enclosed=True)
            if not 0 < len(tokens) <= self._most_tokens:
                return None
            vector = self._compute(tokens)
        length = float(np.linalg.norm(vector))
        if not 0 < length < float("inf"):
            raise EngineError(f"the embedding model {self.name} makes nothing of {len(tokens)} tokens")
        return vector / np.float32(length)

    def _compute(self, tokens: list[int]) -> NDArray[np.float32]:
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        batch = lib.llama_batch_get_one(array, len(tokens))
        if self._memory:
            lib.llama_memory_clear(self._memory, True)
            status = lib.llama_decode(self._context, batch)
        else:
            status = lib.llama_encode(self._context, batch)
        found = lib.llama_get_embeddings_seq(self._context, 0) if status == 0 else None
        if not found:
            raise EngineError(f"llama.cpp could not embed {len(tokens)} tokens (status {status})")
        return np.ctypeslib.as_array(found, (self.dimension,)).copy()

    def close(self) -> None:
        """Once a text under way is done."""
        with self._lock:
            if self._context:
                lib.llama_free(self._context)
                self._context = None
            self._model.close()
