"""What a GGUF header tells about a model before it is loaded::

header = read_header("model.gguf")
describe(header)                          "llama 135M Q4_1"
kv_bytes_per_token(header, "f16")         23040
fingerprint("model.gguf")                 which model it is, by contents
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reame_core.models.fingerprint import fingerprint
from reame_core.models.gguf_reader import ArraySummary, MetadataValue, TensorInfo
from reame_core.models.gguf_types import FILE_TYPES, tensor_bytes
from reame_core.models.model_file import GgufHeader, read_header
from reame_core.models.wording import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ArraySummary",
    "AttentionShape",
    "GgufHeader",
    "MetadataValue",
    "TensorInfo",
    "attention_shape",
    "describe",
    "fingerprint",
    "kv_bytes_per_token",
    "number",
    "parameters",
    "quantisation",
    "read_header",
    "tokenizer_digest",
]

_MOST_LAYERS = 1 << 14
_SIZE_LABEL = re.compile(r"[\w.x-]{1,20}")
_CACHE_TYPES = {
    "f32": 0,
    "f16": 1,
    "bf16": 30,
    "q4_0": 2,
    "q4_1": 3,
    "q5_0": 6,
    "q5_1": 7,
    "q8_0": 8,
    "iq4_nl": 20,
}


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """The parts of a model that decide about its KV memory."""

    layers: int
    heads: tuple[int, ...]
    """Query heads of each layer."""
    kv_heads: tuple[int, ...]
    """Key and value heads of each layer; 0 for a layer without attention."""
    key_length: int
    """Elements of one head's key."""
    value_length: int


def describe(header: GgufHeader) -> str:
    """Architecture, size and quantisation, such as ``llama 135M Q4_1``."""
    label = header.metadata.get("general.size_label")
    size = label if isinstance(label, str) and _SIZE_LABEL.fullmatch(label) else _short(parameters(header))
    parts = (printable(header.architecture) or "unknown architecture", size, quantisation(header))
    return " ".join(part for part in parts if part)


def parameters(header: GgufHeader) -> int:
    """How many weights the model has."""
    return sum(tensor.elements for tensor in header.tensors)


def quantisation(header: GgufHeader) -> str:
    """How most weights are stored, such as ``Q4_K_M``; empty for a file without tensors."""
    stated = number(header, "general.file_type")
    if stated in FILE_TYPES:
        return FILE_TYPES[stated]
    weight: Counter[str] = Counter()
    for tensor in header.tensors:
        weight[tensor.type] += tensor.elements
    return weight.most_common(1)[0][0] if weight else ""


def tokenizer_digest(header: GgufHeader) -> str:
    """Equal for files whose token ids mean the same; empty for a file that does not list its tokens."""
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    return tokens.digest if isinstance(tokens, ArraySummary) else ""


def number(header: GgufHeader, key: str) -> int | None:
    """A whole number of the metadata. ``{arch}`` in ``key`` stands for the architecture."""
    value = header.metadata.get(key.format(arch=header.architecture))
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def attention_shape(header: GgufHeader) -> AttentionShape | None:
    """None where the header does not say, or says it in a way not known here (latent attention)."""
    layers = number(header, "{arch}.block_count")
    heads = _per_layer(header, "{arch}.attention.head_count", layers)
    if not layers or heads is None or number(header, "{arch}.attention.kv_lora_rank"):
        return None
    kv_heads = _per_layer(header, "{arch}.attention.head_count_kv", layers, otherwise=heads)
    if kv_heads is None:
        return None
    width = number(header, "{arch}.embedding_length") or 0
    usual = width // max(heads) if max(heads) else 0
    key = number(header, "{arch}.attention.key_length")
    value = number(header, "{arch}.attention.value_length")
    key, value = usual if key is None else key, usual if value is None else value
    if any(kv_heads) and (key <= 0 or value <= 0):
        return None
    shared = min(number(header, "{arch}.attention.shared_kv_layers") or 0, layers)
    own = tuple(kv_heads[: layers - shared]) + (0,) * shared
    return AttentionShape(layers, tuple(heads), own, key, value)


def kv_bytes_per_token(header: GgufHeader, kv_type: str) -> int | None:
    """Bytes of KV memory one token takes with all layers kept in full (no sliding-window savings), keys and
    values stored as ``kv_type`` (``f16``, ``q8_0``, ``q4_0``, ...). 0 for recurrent models, whose memory does
    not grow with the text; None where the header does not tell."""
    shape = attention_shape(header)
    if shape is None:
        return None
    kind = _CACHE_TYPES[kv_type]
    total = 0
    for kv_heads in shape.kv_heads:
        if kv_heads:
            keys = tensor_bytes(kind, (kv_heads * shape.key_length,))
            values = tensor_bytes(kind, (kv_heads * shape.value_length,))
            total += (keys or 0) + (values or 0)
    return total


def _per_layer(
    header: GgufHeader, key: str, layers: int | None, *, otherwise: Sequence[int] | None = None
) -> Sequence[int] | None:
    if not layers or not 0 < layers <= _MOST_LAYERS:
        return None
    value = header.metadata.get(key.format(arch=header.architecture))
    if value is None:
        return otherwise
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return (value,) * layers if value >= 0 else None
    if not isinstance(value, tuple) or len(value) < layers:
        return None
    counts = [int(entry) for entry in value[:layers]]
    return counts if min(counts) >= 0 else None


def _short(count: int) -> str:
    for unit, size in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= size:
            value = count / size
            return f"{value:.1f}{unit}" if value < 10 else f"{value:.0f}{unit}"
    return str(count) if count else ""
