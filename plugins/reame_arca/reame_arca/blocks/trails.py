"""Finding the block that has most tokens in common with a prompt, among those behind the same parent.

For every token a *trail* holds two bytes of a hash over all tokens up to there. Where two texts begin alike, so
do their trails; behind the first difference everything differs. So in the order of bytes the best block is one
of the two neighbours of what is looked for, and a sorted set of the store finds it, which learns nothing of the
tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

from blake3 import blake3

STEP = 2
"""Bytes of a trail for each token: 15 bits of the hash."""
TOKEN_BYTES = 4
KEY_BYTES = 20
_SIZE_BYTES = 4
_ENDING = 1 + KEY_BYTES + _SIZE_BYTES
_LARGEST = (1 << 8 * _SIZE_BYTES) - 1


def trail_of(secret_name: str, tokens: bytes) -> bytes:
    """The trail of encoded ``tokens`` behind the parent that ``secret_name`` stands for."""
    digest = blake3(secret_name.encode(), derive_key_context="reame-arca 2026-11 trail")
    steps = []
    for at in range(0, len(tokens), TOKEN_BYTES):
        digest.update(tokens[at : at + TOKEN_BYTES])
        step = digest.digest(length=STEP)
        # Never as small as what follows the last step: a beginning comes before all that goes on from there.
        steps.append(bytes((step[0] | 0x80, step[1])))
    return b"".join(steps)


@dataclass(frozen=True, slots=True)
class Member:
    """A block in the sorted set of its parent."""

    trail: bytes
    key: bytes
    size: int
    """Bytes of its file."""

    def encode(self) -> bytes:
        return self.trail + b"\0" + self.key + min(self.size, _LARGEST).to_bytes(_SIZE_BYTES, "big")

    def common(self, trail: bytes) -> int:
        """Tokens at the beginning that it has in common with another one."""
        most = min(len(self.trail), len(trail)) // STEP
        for count in range(most):
            at = count * STEP
            if self.trail[at : at + STEP] != trail[at : at + STEP]:
                return count
        return most


def decode_member(value: object) -> Member | None:
    """None for what is no member."""
    if not isinstance(value, bytes) or len(value) <= _ENDING or (len(value) - _ENDING) % STEP:
        return None
    trail, key, size = value[:-_ENDING], value[1 - _ENDING : -_SIZE_BYTES], value[-_SIZE_BYTES:]
    return Member(trail, key, int.from_bytes(size, "big"))
