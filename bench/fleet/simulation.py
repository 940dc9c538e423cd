"""Servers that answer one stream of tickets, each for itself or with one store, event by event."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from bench.fleet.costs import Costs

LOAD = 0.7
"""Of what the servers could do if all tickets were as quick as learned ones."""
REPEATS = 0.2
"""Share of the tickets that were asked before, word for word."""
QUEUE_BYTES = 64e6
"""What a server keeps of blocks that wait to be published (``queue_mb``); what is more is not shared."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it, over all servers."""

    work_s: float
    """Of a server's time for a request, mean."""
    wait_s: float
    """From a ticket to its answer, 95 % are answered within."""
    megabytes_s: float
    """Offered to the store or asked of it, while it lasted."""
    busiest_mb_s: float
    """The same in the busiest ten seconds."""
    dropped: float
    """Share of blocks that were not published, because the network was behind."""


@dataclass(slots=True)
class _Server:
    known: bool = False
    """Whether it has the instructions."""
    answers: set[int] = field(default_factory=set)
    busy: bool = False
    waiting: deque[tuple[float, int]] = field(default_factory=deque)


class Fleet:
    """``bandwidth`` bytes a second reach the store. Tickets go to the servers at random."""

    def __init__(self, costs: Costs, servers: int, *, shared: bool, bandwidth: float) -> None:
        self._costs = costs
        self._servers = [_Server() for _ in range(servers)]
        self._shared = shared
        self._bandwidth = bandwidth
        self._everybody: set[int] = set()
        """Tickets that any server has answered."""
        self._published_at = float("inf")
        """When the store has the instructions."""
        self._link_free = 0.0
        self._sent: dict[int, float] = {}
        self._offered = self._dropped = self._bytes = self._work = 0.0
        self._waits: list[float] = []

    def run(self, tickets: int, seed: int = 1) -> Outcome:
        """Answer so many tickets."""
        rng = np.random.default_rng(seed)
        steady = (1 - REPEATS) * self._costs.new(len(self._costs.new_s)) + REPEATS * self._costs.repeated_s
        arrivals = np.cumsum(rng.exponential(steady / (LOAD * len(self._servers)), tickets))
        names = _tickets(tickets, rng)
        chosen = rng.integers(len(self._servers), size=tickets)
        # What ends at a moment comes before what arrives then.
        events = [(float(arrivals[n]), 1, int(chosen[n]), names[n]) for n in range(tickets)]
        now = 0.0
        while events:
            now, arrives, index, ticket = heappop(events)
            server = self._servers[index]
            if arrives:
                server.waiting.append((now, ticket))
            else:
                self._ended(now, server, ticket)
            if server.waiting and not server.busy:
                arrived, ticket = server.waiting.popleft()
                seconds = self._seconds(server, ticket, now)
                server.busy = True
                heappush(events, (now + seconds, 0, index, ticket))
                self._work += seconds
                self._waits.append(now + seconds - arrived)
        busiest = max(self._sent.values(), default=0.0) / 10
        return Outcome(
            self._work / tickets,
            float(np.percentile(self._waits, 95)),
            self._bytes / now / 1e6,
            busiest / 1e6,
            self._dropped / self._offered if self._offered else 0.0,
        )

    def _seconds(self, server: _Server, ticket: int, now: float) -> float:
        costs = self._costs
        if not server.known:
            server.known = True
            if self._shared and now >= self._published_at:
                return costs.joining_s + self._send(now, costs.fetched_bytes)
            return costs.cold_s
        known = self._everybody if self._shared else server.answers
        if ticket in known:
            return costs.repeated_s
        return costs.new(max(1, len(known)))

    def _ended(self, now: float, server: _Server, ticket: int) -> None:
        server.busy = False
        first = not server.answers
        server.answers.add(ticket)
        if not self._shared:
            return
        repeated = ticket in self._everybody
        self._everybody.add(ticket)
        if repeated and not first:
            return
        self._send(now, self._costs.generation_bytes * len(self._servers))
        size = self._costs.first_bytes if first else self._costs.later_bytes
        self._offered += size
        # All servers wait for the same network, each with a queue of its own.
        if (self._link_free - now) * self._bandwidth / len(self._servers) > QUEUE_BYTES:
            self._dropped += size
            return
        taken = self._send(now, size)
        if first:
            self._published_at = min(self._published_at, now + taken)

    def _send(self, now: float, size: float) -> float:
        """Seconds until so many bytes have come through."""
        self._bytes += size
        self._sent[int(now // 10)] = self._sent.get(int(now // 10), 0.0) + size
        self._link_free = max(self._link_free, now) + size / self._bandwidth
        return self._link_free - now


def _tickets(count: int, rng: np.random.Generator) -> list[int]:
    """Names of tickets; every so often one that came before."""
    names: list[int] = []
    for number in range(count):
        repeated = number > 0 and rng.random() < REPEATS
        names.append(names[int(rng.integers(number))] if repeated else number)
    return names
