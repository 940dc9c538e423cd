"""The shared store, asked so that it cannot be in anybody's way.

Three ways to ask: ``ask`` for whoever waits, within milliseconds; ``patiently`` for a thread of a layer's own;
``later`` for writing, behind everybody's back. All are guarded by one circuit breaker: a store that is away,
slow
or talks nonsense is not asked at all until probes in the background find it well again.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from redis.exceptions import MovedError, OutOfMemoryError, ReadOnlyError, ResponseError

from reame_arca.breaker import CircuitBreaker
from reame_arca.connection import OF_A_CLUSTER, connect
from reame_arca.counts import Counts
from reame_arca.later import Later

if TYPE_CHECKING:
    from reame_arca.connection import Client
    from reame_arca.options import Options

log = logging.getLogger("reame.plugins.arca")

T = TypeVar("T")
Action = Callable[["Client"], T]

_ASKERS = 16
"""Threads that ask for somebody who waits: more than a server's threads for preparing requests, mostly."""
_PAUSE_WHEN_FULL_S = 1.0
"""Between attempts to write into a store that takes nothing."""


class Unavailable(Exception):
    """The store has not answered, or is not asked. Go on without it."""


class Refused(Unavailable):
    """The store has answered that it will not do this."""


class Store:
    """For any thread. ``connect_within`` makes a client whose answers may take so many seconds."""

    def __init__(
        self,
        connect_within: Callable[[float], Client],
        *,
        address: str,
        timeout_s: float,
        patience_s: float,
        queue_bytes: int,
        counts: Counts | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self.patience_s = patience_s
        self.counts = counts or Counts()
        self.breaker = breaker or CircuitBreaker(monotonic)
        self._connect = connect_within
        self._clients: dict[float, Client] = {}
        self._connecting = threading.Lock()
        self._askers = ThreadPoolExecutor(_ASKERS, "reame-arca-ask")
        self._full_until = 0.0
        self._told_of_cluster = False
        self._closing = threading.Event()
        self._opened = threading.Event()
        self._later = Later(queue_bytes, self._write)
        self._prober = threading.Thread(target=self._probe, name="reame-arca-probe", daemon=True)
        self._prober.start()

    @classmethod
    def at(cls, options: Options) -> Store:
        """The store that ``options`` name."""
        return cls(
            lambda seconds: connect(options, seconds),
            address=options.address,
            timeout_s=options.timeout_ms / 1000,
            patience_s=options.patience_ms / 1000,
            queue_bytes=int(options.queue_mb * 1e6),
        )

    @property
    def available(self) -> bool:
        """Whether it is worth asking."""
        return self.breaker.closed

    @property
    def takes_values(self) -> bool:
        """Whether it is worth making a value for ``later``."""
        return self.breaker.closed and monotonic() >= self._full_until

    def ask(self, action: Action[T], seconds: float | None = None) -> T:
        """What ``action`` makes of a client, within ``seconds`` (by default ``timeout_s``), whatever happens.
        Raises Unavailable, at the latest then."""
        if not self.breaker.closed:
            raise Unavailable(f"the store at {self.address} is not asked for now")
        limit = self.timeout_s if seconds is None else seconds
        try:
            future = self._askers.submit(self._guarded, self.timeout_s, action)
        except RuntimeError:
            raise Unavailable("the store is closed") from None
        return self._outcome(future, limit)

    def patiently(self, action: Action[T]) -> T:
        """As ``ask``, on this thread and with ``patience_s`` for each answer. For threads that nobody waits
        for."""
        if not self.breaker.closed:
            raise Unavailable(f"the store at {self.address} is not asked for now")
        return self._guarded(self.patience_s, action)

    def later(self, size: int, action: Callable[[Client], object]) -> bool:
        """Do ``action``, which writes ``size`` bytes, on the writer's thread; whether it was taken. It is not
        where too much waits already, or where the store takes nothing."""
        if not self.takes_values:
            self.counts.add("writes", "not tried")
            return False
        if not self._later.put(size, action):
            self.counts.add("writes", "dropped")
            return False
        return True

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until what was taken by ``later`` is written or given up; whether it is."""
        return self._later.flush(timeout)

    def warm_up(self) -> None:
        """Connect in the background."""
        with contextlib.suppress(RuntimeError):
            self._askers.submit(self._guarded, self.timeout_s, _ping).add_done_callback(Future.exception)

    def probe_now(self) -> bool:
        """Whether the store answers well, asked past the breaker. Takes ``timeout_s`` at most."""
        try:
            answer = self._outcome(self._askers.submit(self._call, self.timeout_s, _ping), self.timeout_s)
        except (Unavailable, RuntimeError):
            return False
        return answer is True

    def close(self, timeout: float = 2.0) -> None:
        """Write what waits, for at most ``timeout`` seconds, and hang up."""
        self._later.close(timeout)
        self._closing.set()
        self._opened.set()
        self._prober.join()
        self._askers.shutdown(wait=False, cancel_futures=True)
        with self._connecting:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    def _outcome(self, future: Future[T], limit: float) -> T:
        try:
            return future.result(limit)
        except (NotInTime, CancelledError):
            future.cancel()
            self._failed(f"no answer within {1000 * limit:g} ms")
            raise Unavailable("the store has not answered in time") from None

    def _guarded(self, timeout_s: float, action: Action[T]) -> T:
        try:
            answer = self._call(timeout_s, action)
        except Refused:
            raise
        except Unavailable as error:
            self._failed(str(error))
            raise
        self.breaker.succeeded()
        return answer

    def _call(self, timeout_s: float, action: Action[T]) -> T:
        try:
            return action(self._client(timeout_s))
        except ResponseError as error:
            self.counts.add("errors", "refused")
            if isinstance(error, OutOfMemoryError | ReadOnlyError):
                self._full_until = monotonic() + _PAUSE_WHEN_FULL_S
            if isinstance(error, MovedError) and not self._told_of_cluster:
                self._told_of_cluster = True
                log.warning("the store at %s %s; little is shared until then", self.address, OF_A_CLUSTER)
            raise Refused(_one_line(error)) from None
        # A store that talks nonsense makes the client raise anything.
        except Exception as error:
            raise Unavailable(_one_line(error)) from error

    def _client(self, timeout_s: float) -> Client:
        with self._connecting:
            client = self._clients.get(timeout_s)
            if client is None:
                client = self._clients[timeout_s] = self._connect(timeout_s)
            return client

    def _failed(self, why: str) -> None:
        self.counts.add("errors", "failed")
        if self.breaker.failed():
            log.warning("the store at %s is not asked until it answers well again: %s", self.address, why)
            self._opened.set()

    def _write(self, action: Callable[[Client], object]) -> None:
        """On the writer's thread."""
        if not self.takes_values:
            self.counts.add("writes", "not tried")
            return
        try:
            self.patiently(action)
        except Unavailable as error:
            log.debug("a value was not written: %s", error)
            self.counts.add("writes", "failed")
        else:
            self.counts.add("writes", "done")

    def _probe(self) -> None:
        """The prober's thread."""
        while not self._closing.is_set():
            self._opened.wait()
            seconds = self.breaker.seconds_to_probe()
            if seconds is None:
                self._opened.clear()
                # It may have opened between the two.
                if self.breaker.closed and not self._closing.is_set():
                    continue
                self._opened.set()
            elif self._closing.wait(seconds):
                return
            elif self.breaker.probed(self.probe_now()):
                log.info("the store at %s answers again", self.address)


def _ping(client: Client) -> object:
    return client.ping()


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
