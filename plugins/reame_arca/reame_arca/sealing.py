"""Names and values in a store that others can write to as well.

Whatever is read is checked before it is used: a value is bound to its name, its tenant and what computed it, so
that a damaged, exchanged or foreign one is none. With a secret nobody without it can make values that pass, or
read them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from hmac import compare_digest

from blake3 import blake3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_PLAIN = b"RA1p"
_ENCRYPTED = b"RA1e"
_TAG = 32
_SALT = 16
_NONCE = 12
_CONTEXT = "reame-arca 2026-11 space"

Bytes = bytes | memoryview


class Space:
    """What one tenant has in one layer, of one ``scope``: everything that values depend on, such as the model
    and
    its build. ``secret`` is the user's; None only guards against damage and mistakes.

    Names and seals are computed, nothing is asked. For any thread.
    """

    def __init__(
        self, prefix: str, layer: str, scope: Mapping[str, str], tenant: str, secret: bytes | None
    ) -> None:
        described = _joined(
            secret or b"",
            layer.encode(),
            tenant.encode(),
            *(part.encode() for item in sorted(scope.items()) for part in item),
        )
        root = blake3(described, derive_key_context=_CONTEXT).digest()
        self._naming = blake3(b"name", key=root).digest()
        self._sealing = blake3(b"seal", key=root).digest()
        self._encrypts = secret is not None
        self._prefix = f"{prefix}:{layer}:"

    def name(self, *material: bytes) -> str:
        """The key in the store for ``material``. Equal only for equal parts; tells nothing of them."""
        return self._prefix + blake3(_joined(*material), key=self._naming).hexdigest()

    def seal(self, name: str, payload: Bytes) -> bytes:
        """``payload`` as the value of ``name``."""
        return b"".join(self.seal_parts(name, [payload]))

    def seal_parts(self, name: str, parts: Sequence[Bytes]) -> list[Bytes]:
        """As ``seal``, of a payload in parts, in parts again: what is large is copied only to be encrypted."""
        if not self._encrypts:
            return [_PLAIN, self._tag(name, parts), *parts]
        salt, nonce = os.urandom(_SALT), os.urandom(_NONCE)
        # A key for each value: random nonces under one key would run out after 2^32 values.
        key = blake3(salt, key=self._sealing).digest()
        payload = parts[0] if len(parts) == 1 else b"".join(parts)
        return [_ENCRYPTED, salt, nonce, AESGCM(key).encrypt(nonce, payload, _ENCRYPTED + name.encode())]

    def open(self, name: str, value: Bytes) -> bytes | None:
        """The payload; None for anything that was not sealed here for this name."""
        payload = self.view(name, value)
        return None if payload is None else bytes(payload)

    def view(self, name: str, value: Bytes) -> Bytes | None:
        """As ``open``, not copied where that need not be."""
        kind, body = bytes(value[:4]), memoryview(value)[4:]
        if self._encrypts:
            if kind != _ENCRYPTED or len(body) < _SALT + _NONCE:
                return None
            key = blake3(body[:_SALT], key=self._sealing).digest()
            nonce, sealed = body[_SALT : _SALT + _NONCE], body[_SALT + _NONCE :]
            try:
                return AESGCM(key).decrypt(nonce, sealed, _ENCRYPTED + name.encode())
            except InvalidTag:
                return None
        tag, payload = body[:_TAG], body[_TAG:]
        if kind != _PLAIN or not compare_digest(tag, self._tag(name, [payload])):
            return None
        return payload

    def _tag(self, name: str, parts: Sequence[Bytes]) -> bytes:
        tagged = blake3(_joined(_PLAIN, name.encode()), key=self._sealing)
        for part in parts:
            tagged.update(part)
        return tagged.digest()


def _joined(*parts: bytes) -> bytes:
    """Different for different lists of parts."""
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)
