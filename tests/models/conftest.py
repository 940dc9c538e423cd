"""A writer of small GGUF files, sound or damaged as a test wants them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(item: object) -> bytes:
    """A metadata value with its type: str, int (uint32), float, bool, or a list of one of them."""
    if isinstance(item, list):
        first = item[0]
        kind = {str: 8, bool: 7, int: 4, float: 6}[type(first)]
        return struct.pack("<IIQ", 9, kind, len(item)) + b"".join(value(entry)[4:] for entry in item)
    if isinstance(item, str):
        return struct.pack("<I", 8) + text(item)
    if isinstance(item, bool):
        return struct.pack("<I?", 7, item)
    if isinstance(item, int):
        return struct.pack("<II", 4, item)
    assert isinstance(item, float)
    return struct.pack("<If", 6, item)


@dataclass
class Gguf:
    """F16 tensors by name and shape; ``bytes()`` is the whole file."""

    metadata: Mapping[str, object] = field(default_factory=dict)
    tensors: Mapping[str, Sequence[int]] = field(default_factory=dict)
    version: int = 3
    fill: int = 7

    def header(self) -> bytes:
        out = b"GGUF" + struct.pack("<IQQ", self.version, len(self.tensors), len(self.metadata))
        for key, item in self.metadata.items():
            out += text(key) + value(item)
        offset = 0
        for name, shape in self.tensors.items():
            out += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 1, offset)
            offset += -(-self.size(shape) // 32) * 32
        return out + bytes(-len(out) % 32)

    @staticmethod
    def size(shape: Sequence[int]) -> int:
        count = 2
        for length in shape:
            count *= length
        return count

    def bytes(self) -> bytes:
        out = self.header()
        for shape in self.tensors.values():
            data = bytes([self.fill]) * self.size(shape)
            out += data + bytes(-len(data) % 32)
        return out


LLAMA = {
    "general.architecture": "llama",
    "general.file_type": 1,
    "llama.block_count": 2,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
}


@pytest.fixture
def gguf() -> type[Gguf]:
    return Gguf


@pytest.fixture
def llama() -> Callable[..., Gguf]:
    """A small file of a llama-like model; arguments replace or add metadata values."""

    def make(*, tensors: Mapping[str, Sequence[int]] | None = None, fill: int = 7, **changes: object) -> Gguf:
        metadata = LLAMA | {key.replace("__", "."): item for key, item in changes.items()}
        return Gguf(
            metadata, tensors or {"token_embd.weight": (64, 1000), "output_norm.weight": (64,)}, fill=fill
        )

    return make


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., Path]:
    def save(content: bytes, name: str = "model.gguf") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return save
