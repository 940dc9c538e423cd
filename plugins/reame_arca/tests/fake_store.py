"""A store in this process, for layers that know no others: what L1 asks of a client, and nothing else."""

from __future__ import annotations

import threading
from typing import Any

from reame_arca.answers.leases import RELEASE, RENEW
from reame_arca.store import Store


class FakeClient:
    """Keeps values for as long as it lives. For any thread."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def ping(self) -> bool:
        return True

    def getrange(self, name: str, start: int, end: int) -> bytes:
        with self._lock:
            return self.values.get(name, b"")[start : end + 1]

    def set(self, name: str, value: bytes, *, px: int, nx: bool = False) -> bool | None:
        assert px > 0
        with self._lock:
            if nx and name in self.values:
                return None
            self.values[name] = value
            return True

    def eval(self, script: str, keys: int, name: str, token: bytes, *_: object) -> int:
        assert script in (RENEW, RELEASE)
        assert keys == 1
        with self._lock:
            if self.values.get(name) != token:
                return 0
            if script == RELEASE:
                del self.values[name]
            return 1

    def close(self) -> None:
        """The values stay."""


def fake_store(client: FakeClient) -> Store:
    """Stores with the same ``client`` share. On a busy machine an answer may take longer than any limit."""
    given: Any = client
    return Store(lambda _: given, address="fake", timeout_s=30.0, patience_s=30.0, queue_bytes=1 << 24)
