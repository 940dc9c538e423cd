"""Which model a file is, by its contents."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, BinaryIO

from reame_core.models.model_file import open_model, read_header

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from reame_core.models.gguf_reader import FileHeader

_BLOCK = 4096
_STRIDE = 8 << 20


def fingerprint(path: str | os.PathLike[str]) -> str:
    """32 hexadecimal digits that stand for the contents of the model at ``path``, all its shards included.

    Hashed are the whole header (metadata, vocabulary, names and shapes of all tensors), the file's size,
    and of the tensor data a 4 KiB block in the middle of every tensor, one in every 8 MiB of large ones, and
    the end of the file. So another model, quantisation, vocabulary, template or fine-tuning, a merged
    adapter and a cut or overgrown file have another fingerprint, whatever the file's name and times. A few
    bytes altered elsewhere inside a tensor go unseen: this tells models apart, it is no check of integrity
    and none against forgery. Reads a few megabytes.

    Raises ModelError where ``read_header`` does."""
    digest = hashlib.blake2b(digest_size=16, person=b"reame-model")
    for file_path, header in read_header(path).files:
        with open_model(file_path) as (file, size):
            digest.update(size.to_bytes(8, "little"))
            digest.update(file.read(header.data_offset))
            for offset in sorted(_sampled(header, size)):
                digest.update(_block(file, offset))
    return digest.hexdigest()


def _sampled(header: FileHeader, size: int) -> set[int]:
    offsets = {max(size - _BLOCK, 0)}
    for tensor in header.tensors:
        start = header.data_offset + tensor.offset
        length = max(tensor.size or 0, 1)
        pieces = -(-length // _STRIDE)
        offsets.update(_middles(start, length, pieces))
    return offsets


def _middles(start: int, length: int, pieces: int) -> Iterator[int]:
    for piece in range(pieces):
        middle = start + (2 * piece + 1) * length // (2 * pieces)
        yield max(middle - _BLOCK // 2, start)


def _block(file: BinaryIO, offset: int) -> bytes:
    file.seek(offset)
    return file.read(_BLOCK)
