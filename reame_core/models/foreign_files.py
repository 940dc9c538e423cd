"""Recognises by their first bytes the files that people give in place of a GGUF model."""

from __future__ import annotations

import struct

BYTES_TO_LOOK_AT = 64

_LFS_POINTER = b"version https://git-lfs"
_OLD_GGML = (b"lmgg", b"fmgg", b"tjgg", b"algg")
_WEB_PAGE = (b"<!doctype", b"<html", b"<?xml", b"<head", b"<!--")


def what_it_is(start: bytes) -> str:
    """The rest of a sentence that begins with the file's name, for a file whose first bytes are ``start``."""
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith(_WEB_PAGE):
        return "is a web page, not a model: the download needs a login or another address"
    if start.startswith(_LFS_POINTER):
        return "is only a Git LFS pointer to a model: run `git lfs pull` where it was cloned"
    if start.startswith(_OLD_GGML):
        return "is in the old GGML format: get a GGUF file of this model"
    if start.startswith((b"PK\x03\x04", b"\x80\x02")):
        return "looks like a PyTorch checkpoint or a zip archive: get or convert to a GGUF file of this model"
    if start.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
        return "is compressed: unpack it first"
    if _is_safetensors(start):
        return "is a safetensors file: get or convert to a GGUF file of this model"
    if text.startswith((b"{", b"[")):
        return "is JSON, not a model: perhaps an error message that was saved in place of the download"
    if not start.strip(b"\0"):
        return "begins with zeros: the download was not finished, fetch it again"
    return f"is no GGUF file: it begins with {start[:8]!r}, not with {b'GGUF'!r}"


def _is_safetensors(start: bytes) -> bool:
    if len(start) < 10:
        return False
    (header_length,) = struct.unpack_from("<Q", start)
    return header_length < 1 << 30 and start[8:10] in (b'{"', b"{ ")
