"""Schemas that were found to be valid. To check one takes milliseconds, and clients send the same again."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping

KEPT = 1024
"""Digests; the schemas themselves may be large and are not kept."""


class ValidSchemas:
    """Knows the latest ``kept`` of them. Any thread may use it."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._digests: OrderedDict[bytes, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._digests)

    def __contains__(self, schema: Mapping[str, object]) -> bool:
        """Whether the very same text was valid before. Raises RecursionError for one nested too deeply."""
        digest = _digest(schema)
        with self._lock:
            if digest not in self._digests:
                return False
            self._digests.move_to_end(digest)
            return True

    def add(self, schema: Mapping[str, object]) -> None:
        """``schema`` is valid."""
        digest = _digest(schema)
        with self._lock:
            self._digests[digest] = None
            while len(self._digests) > self._kept:
                self._digests.popitem(last=False)


def _digest(schema: Mapping[str, object]) -> bytes:
    return hashlib.blake2b(json.dumps(schema).encode(), digest_size=16).digest()
