"""Who waits and who is let in: first come, first served, except that a prompt about to be computed by
somebody else waits for that instead of computing it again, and that background requests wait for all others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from reame_core.engine.kv_memory import KVMemory
from reame_core.engine.sequence import Sequence, common_prefix

WORTH_WAITING = 16
"""Prompt tokens that a running sequence must be about to compute for us before we wait for it."""


class Admission:
    """The queue of sequences without a slot."""

    def __init__(self, memory: KVMemory, parallel: int) -> None:
        self._memory = memory
        self._parallel = parallel
        self.waiting: deque[Sequence] = deque()
        self.background: deque[Sequence] = deque()

    def submit(self, sequence: Sequence) -> None:
        """Queue ``sequence``."""
        (self.background if sequence.request.background else self.waiting).append(sequence)

    def put_away(self) -> None:
        """Where somebody waits, a running background sequence goes back to its queue. What it has computed is
        remembered as long as there is room."""
        if not self.waiting:
            return
        for slot in self._memory.active:
            sequence = slot.holder
            if sequence is not None and sequence.request.background:
                self._memory.release(slot)
                sequence.slot = None
                sequence.reused.clear()
                self.background.appendleft(sequence)

    def admit(self) -> Iterator[Sequence]:
        """Sequences that have just been given a slot. The head of the queue is never overtaken for lack of
        room, only while it waits for its donor."""
        running = [slot.holder for slot in self._memory.active if slot.holder is not None]
        kept: deque[Sequence] = deque()
        while self.waiting and len(running) < self._parallel:
            sequence = self.waiting.popleft()
            if self._waits_for_donor(sequence, running):
                kept.append(sequence)
                continue
            if not self._memory.admit(sequence):
                self.waiting.appendleft(sequence)
                break
            running.append(sequence)
            yield sequence
        kept.extend(self.waiting)
        self.waiting = kept
        if self.background and not self.waiting and not running:
            sequence = self.background.popleft()
            if self._memory.admit(sequence):
                yield sequence
            else:
                self.background.appendleft(sequence)

    def _waits_for_donor(self, sequence: Sequence, running: list[Sequence]) -> bool:
        if sequence.donor is not None:
            if sequence.donor in running and sequence.donor.computed < sequence.donor_length:
                return True
            sequence.donor = None
        if not sequence.request.reuse or not running:
            return False
        shareable = sequence.prompt[:-1]
        best: Sequence | None = None
        best_length = 0
        for other in running:
            if other.request.tenant != sequence.request.tenant or other.computed >= other.prompt_length:
                continue
            length = common_prefix(shareable, other.prompt)
            if not self._memory.can_share(other.prompt_length, length):
                continue
            if length > max(best_length, other.computed):
                best, best_length = other, length
        if best is None:
            return False
        _, ready = self._memory.longest_prefix(shareable, sequence.request.tenant)
        if best_length - ready < WORTH_WAITING:
            return False
        sequence.donor, sequence.donor_length = best, best_length
        return True

    def remove(self, sequence: Sequence) -> bool:
        """Take a cancelled sequence out of its queue; whether it was in one."""
        for queue in (self.waiting, self.background):
            if sequence in queue:
                queue.remove(sequence)
                return True
        return False

    def clear(self) -> None:
        """Nobody waits any more."""
        self.waiting.clear()
        self.background.clear()

    @property
    def queued(self) -> int:
        """Sequences in both queues."""
        return len(self.waiting) + len(self.background)
