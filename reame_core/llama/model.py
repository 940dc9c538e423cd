"""Loading a GGUF into llama.cpp and asking what it is."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reame_core.errors import ModelError
from reame_core.llama.bindings import extra_buffer_types, last_complaints, lib, read_string
from reame_core.llama.huge_pages import forget_mapped, huge_pages

_LOAD_MODES = {(False, False): 0, (True, False): 1, (False, True): 2, (True, True): 3}
REPACK_BUFFER = "CPU_REPACK"


@dataclass(frozen=True, slots=True)
class WeightBuffers:
    """Where weights are kept. ``extra`` lets llama.cpp choose any of its extra buffers (it may crash: see
    ``tuning``); ``repacked`` puts just the named tensors into the repacking buffer."""

    extra: bool = False
    repacked: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return "on" if self.extra else f"{len(self.repacked)} matrices repacked" if self.repacked else "off"


class _Override(ctypes.Structure):
    _fields_ = (("pattern", ctypes.c_char_p), ("buffer_type", ctypes.c_void_p))


def _overrides(names: Sequence[str]) -> ctypes.Array[_Override] | None:
    buffer_type = extra_buffer_types().get(REPACK_BUFFER)
    if not names or buffer_type is None:
        return None
    entries = [_Override(f"^{re.escape(name)}$".encode(), buffer_type) for name in names]
    return (_Override * (len(entries) + 1))(*entries, _Override(None, None))


class LlamaModel:
    """A loaded model. ``handle`` and ``vocabulary`` are llama.cpp's pointers; free with ``close``."""

    def __init__(self, path: Path, buffers: WeightBuffers, *, mmap: bool = True, mlock: bool = False) -> None:
        params = lib.llama_model_default_params()
        params.n_gpu_layers = 0
        params.use_extra_bufts = buffers.extra
        params.load_mode = _LOAD_MODES[mmap, mlock]
        overrides = _overrides(buffers.repacked)
        if overrides is not None:
            params.tensor_buft_overrides = ctypes.cast(overrides, ctypes.c_void_p)
        last_complaints()
        with huge_pages():
            self.handle: Any = lib.llama_model_load_from_file(str(path).encode(), params)
        complaints = last_complaints()
        if not self.handle:
            reason = next((c for c in complaints if "error" in c.lower()), complaints[-1] if complaints else "")
            raise ModelError(f"{path}: llama.cpp cannot load this model{': ' if reason else ''}{reason}")
        if buffers.extra or buffers.repacked:
            forget_mapped(path.resolve())
        self.path = path
        self.vocabulary: Any = lib.llama_model_get_vocab(self.handle)
        if lib.llama_model_has_encoder(self.handle) or not lib.llama_model_has_decoder(self.handle):
            self.close()
            raise ModelError(f"{path}: this is not a text generation model (it has no decoder alone)")

    def close(self) -> None:
        """Free the weights."""
        if self.handle:
            lib.llama_model_free(self.handle)
            self.handle = None

    @property
    def description(self) -> str:
        """Architecture, size and quantisation."""
        return read_string(lib.llama_model_desc, self.handle)

    @property
    def chat_template(self) -> str | None:
        template = lib.llama_model_chat_template(self.handle, None)
        return template.decode(errors="replace") if template else None

    @property
    def keeps_positions(self) -> bool:
        """Whether part of a sequence can be dropped: not in recurrent and hybrid models."""
        return not (lib.llama_model_is_recurrent(self.handle) or lib.llama_model_is_hybrid(self.handle))
