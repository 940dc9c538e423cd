"""A byte-level vocabulary with a few merges and control tokens, so that characters span tokens, merges
cross seams, and control texts exist to be forged."""

from __future__ import annotations

import re

BOS, EOS, TURN_START, TURN_END = 256, 257, 258, 259
SPECIALS = {"<s>": BOS, "</s>": EOS, "<|im_start|>": TURN_START, "<|im_end|>": TURN_END}
MERGES = (b" the", b"ing", b"the", b"an", b"er", b"in", b"\n\n", b"  ", b"ab", b"12")
FIRST_MERGE = 260
SIZE = FIRST_MERGE + len(MERGES)

_MERGED = {text: FIRST_MERGE + i for i, text in enumerate(MERGES)}
_LONGEST = max(map(len, MERGES))
_SPECIAL_PATTERN = re.compile("|".join(re.escape(text) for text in sorted(SPECIALS, key=len, reverse=True)))


def piece(token: int) -> bytes:
    if token < 256:
        return bytes([token])
    return MERGES[token - FIRST_MERGE] if token >= FIRST_MERGE else b""


def tokenize(text: str, *, parse_special: bool = False) -> list[int]:
    if not parse_special:
        return _tokenize_bytes(text.encode())
    tokens: list[int] = []
    start = 0
    for match in _SPECIAL_PATTERN.finditer(text):
        tokens += _tokenize_bytes(text[start : match.start()].encode())
        tokens.append(SPECIALS[match.group()])
        start = match.end()
    return tokens + _tokenize_bytes(text[start:].encode())


def _tokenize_bytes(data: bytes) -> list[int]:
    tokens = []
    at = 0
    while at < len(data):
        for length in range(_LONGEST, 1, -1):
            token = _MERGED.get(data[at : at + length])
            if token is not None:
                tokens.append(token)
                at += length
                break
        else:
            tokens.append(data[at])
            at += 1
    return tokens
