"""What the blocks of all servers take in the store, and which go when that is more than they may.

A sorted set holds each block with the time of its last use. Whoever writes looks through it now and then, one
server at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time
from typing import TYPE_CHECKING

from reame_arca.large import Head, remove_large

if TYPE_CHECKING:
    from reame_arca.connection import Client

_EVERY_BYTES = 1 / 16
"""Of the limit: so much is written by one server before it looks again."""
_TURN_MS = 10_000
_AT_ONCE = 64
_ENOUGH = 0.9
"""Of the limit is kept."""


class Ledger:
    """For one thread. ``limit`` bytes may all blocks have; ``now`` tells seconds since 1970."""

    def __init__(self, prefix: str, limit: int, ttl_s: float, now: Callable[[], float] = time) -> None:
        self._name = f"{prefix}:blocks:ledger"
        self._turn = f"{prefix}:blocks:turn"
        self._limit = limit
        self._ttl = ttl_s
        self._now = now
        self._written = limit
        """Since it last looked; at the beginning it does."""

    def used(self, client: Client, name: str, head: Head) -> None:
        """The block of this name was written or read now. Raises what the client raises."""
        with client.pipeline(transaction=False) as pipe:
            pipe.zadd(self._name, {_entry(name, head): self._now()})
            pipe.pexpire(self._name, int(1000 * self._ttl))
            pipe.execute()

    def wrote(self, client: Client, name: str, head: Head) -> int:
        """As ``used``; how many other blocks had to go for it. Raises what the client raises."""
        self.used(client, name, head)
        self._written += head.size
        if self._written < self._limit * _EVERY_BYTES:
            return 0
        self._written = 0
        if not client.set(self._turn, b"", nx=True, px=_TURN_MS):
            return 0
        removed = self._keep_within(client)
        client.delete(self._turn)
        return removed

    def _keep_within(self, client: Client) -> int:
        client.zremrangebyscore(self._name, "-inf", self._now() - self._ttl)
        found = client.zrange(self._name, 0, -1)
        entries = [(entry, _read(entry)) for entry in found if isinstance(entry, bytes)]
        total = sum(head.size for _, (_, head) in entries)
        removed = 0
        if total <= self._limit:
            return 0
        for entry, (name, head) in entries:
            if total <= self._limit * _ENOUGH:
                break
            if name:
                remove_large(client, name, head)
            client.zrem(self._name, entry)
            total -= head.size
            removed += 1
        return removed


def _entry(name: str, head: Head) -> bytes:
    return f"{head.size} {head.write} {name}".encode()


def _read(entry: bytes) -> tuple[str, Head]:
    """No name for what is no entry."""
    try:
        size, write, name = entry.decode().split(" ")
        return name, Head(write, int(size))
    except ValueError:
        return "", Head("", 0)
