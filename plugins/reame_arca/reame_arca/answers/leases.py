"""Who computes what, known to all servers: locks in the store that end by themselves when their holder dies."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from reame_arca.store import Unavailable

if TYPE_CHECKING:
    from reame_arca.connection import Client
    from reame_arca.store import Store

_IF_MINE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call({}) end return 0"
RENEW = _IF_MINE.format("'pexpire', KEYS[1], ARGV[2]")
RELEASE = _IF_MINE.format("'del', KEYS[1]")
_LONGEST_S = 3600.0
"""After which nobody is believed to compute any more."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A lock in the store. Whoever has its ``token`` holds it."""

    name: str
    token: bytes

    def release(self, client: Client) -> None:
        """Give it up, unless somebody else has it by now. Raises what the client raises."""
        client.eval(RELEASE, 1, self.name, self.token)


class Leases:
    """Keeps the leases of this server alive, on a thread of its own, while they are held. A lease that is not
    renewed is over after ``seconds``. For any thread."""

    def __init__(self, store: Store, seconds: float = 3.0, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._seconds = seconds
        self._clock = clock
        self._held: dict[Lease, float] = {}
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._renew_all, name="reame-arca-leases", daemon=True)
        self._thread.start()

    @property
    def milliseconds(self) -> int:
        """That a lease lasts without being renewed."""
        return max(1, int(1000 * self._seconds))

    @staticmethod
    def new(name: str) -> Lease:
        """A lease to be tried for."""
        return Lease(name, secrets.token_hex(12).encode())

    def hold(self, lease: Lease) -> None:
        """It has been obtained: keep it alive."""
        with self._changed:
            self._held[lease] = self._clock()
            self._changed.notify_all()

    def drop(self, lease: Lease) -> None:
        """Do not renew it any more."""
        with self._changed:
            self._held.pop(lease, None)

    def close(self) -> None:
        """What is held ends by itself."""
        with self._changed:
            self._closing = True
            self._held.clear()
            self._changed.notify_all()
        self._thread.join()

    def _renew_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._held or self._closing)
                if not self._closing:
                    self._changed.wait_for(lambda: self._closing, self._seconds / 3)
                if self._closing:
                    return
                too_old = self._clock() - _LONGEST_S
                self._held = {lease: since for lease, since in self._held.items() if since > too_old}
                leases = list(self._held)
            for lease in leases:
                self._renew(lease)

    def _renew(self, lease: Lease) -> None:
        try:
            kept = self._store.patiently(
                lambda client: client.eval(RENEW, 1, lease.name, lease.token, str(self.milliseconds))
            )
        except Unavailable:
            return
        if kept != 1:
            self.drop(lease)
