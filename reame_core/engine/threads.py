"""How many threads compute while other processes use the same processors.

The threads of one batch wait for each other at every operation. Where another process takes a processor from
one of them, all wait for its time slice: with one thread less nobody waits. How much is lost and gained differs
between machines, so it is tried: while neighbours are busy, with each of a few numbers of threads in turn, and
the one with the least time for what the same batches cost on the quiet machine is kept.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from reame_core.engine.attention import NOTHING, Attended
from reame_core.engine.batch_cost import BatchCost

log = logging.getLogger("reame.engine")

BUSY, QUIET = 0.35, 0.15
"""Processors that others use from when on they disturb, and below which they no longer do."""
QUIET_LOOKS = 2
"""Looks in a row that have to find the machine quiet."""
TRIAL_MS, TRIAL_BATCHES = 300.0, 3
"""How much is measured with each number of threads, at least."""
FIRST_HOLD, LAST_HOLD = 8.0, 64.0
"""Seconds until the numbers of threads are compared again; twice as long after each time."""


class Threads:
    """``use`` changes the number of threads, from 1 to ``most``. ``busy_cores`` tells how many processors
    others use, or None where there is nothing new to say; without it nothing changes. ``cost`` learns what
    batches cost as things are; what they cost without neighbours is kept aside and comes back when these
    leave."""

    def __init__(
        self,
        most: int,
        use: Callable[[int], None],
        busy_cores: Callable[[], float | None] | None,
        cost: BatchCost,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.count = most
        """Threads in use."""
        self.neighbours = 0.0
        """Processors that others use, as last seen."""
        self._most = most
        self._use = use
        self._busy_cores = busy_cores
        self._cost = cost
        self._clock = clock
        self.disturbed = False
        """Whether neighbours are busy."""
        self._quiet: BatchCost | None = None
        """What batches cost when the machine was last seen quiet."""
        self._quiet_looks = 0
        self._waiting: list[int] = []
        """Numbers of threads still to be tried."""
        self._tried: dict[int, float] = {}
        """Time of a batch in times of that on the quiet machine, by threads."""
        self._fresh = False
        """Whether the threads were just changed: the first batch pays for that."""
        self._expected = self._taken = 0.0
        self._batches = 0
        self._hold = FIRST_HOLD
        self._compare_at = 0.0

    @property
    def quiet_cost(self) -> BatchCost:
        """What batches cost here while nobody disturbs."""
        return self._quiet if self.disturbed and self._quiet else self._cost

    @property
    def trying(self) -> bool:
        """Whether numbers of threads are being compared."""
        return bool(self._waiting)

    def observe(self, rows: int, milliseconds: float, attended: Attended = NOTHING, silent: int = 0) -> None:
        """A batch of ``rows``, some ``silent``, that attend to ``attended`` took ``milliseconds``. Called after
        each, on the engine thread."""
        if self._busy_cores is None or self._most == 1:
            return
        busy = self._busy_cores()
        if busy is not None:
            self._look(busy)
        if not self.disturbed:
            return
        if self._waiting:
            self._measure(milliseconds, self.quiet_cost.estimate(rows, attended=attended, silent=silent))
        elif self._clock() >= self._compare_at:
            self._compare()

    def _look(self, busy: float) -> None:
        self.neighbours = busy
        self._quiet_looks = self._quiet_looks + 1 if busy < QUIET else 0
        if not self.disturbed:
            if self._quiet_looks or self._quiet is None:
                self._quiet = self._cost.copy()
            if busy >= BUSY:
                self.disturbed = True
                self._hold = FIRST_HOLD
                self._compare()
        elif self._quiet_looks >= QUIET_LOOKS:
            log.info("the processors are free again: computing with %d threads", self._most)
            self._cost.adopt(self.quiet_cost)
            self.disturbed = False
            self._waiting = []
            self._switch(self._most)

    def _compare(self) -> None:
        beside = max(1, self._most - max(1, round(self.neighbours)))
        self._tried = {}
        self._waiting = sorted({beside, self._most})
        self._switch(self._waiting[0])

    def _measure(self, milliseconds: float, expected: float | None) -> None:
        if self._fresh or not expected:
            self._fresh = False
            return
        self._expected += expected
        self._taken += milliseconds
        self._batches += 1
        if self._taken < TRIAL_MS or (self._batches < TRIAL_BATCHES and self._taken < 2 * TRIAL_MS):
            return
        self._tried[self._waiting.pop(0)] = self._taken / self._expected
        if self._waiting:
            self._switch(self._waiting[0])
            return
        best = min(self._tried, key=lambda threads: self._tried[threads])
        log.info(
            "other processes use %.1f processors: computing with %d of %d threads",
            self.neighbours,
            best,
            self._most,
        )
        self._compare_at = self._clock() + self._hold
        self._hold = min(2 * self._hold, LAST_HOLD)
        self._switch(best)

    def _switch(self, threads: int) -> None:
        self._expected = self._taken = 0.0
        self._batches = 0
        if threads != self.count:
            self._use(threads)
            self.count = threads
            self._fresh = True
