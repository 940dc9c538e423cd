"""The KV memory: which sequences hold which tokens, who may grow, and what is remembered.

A finished sequence stays resident until its cells or its number are needed, least recently used first. A new
prompt shares the longest prefix that any sequence holds, whether that is running or resident.

**The cells of a sequence lie in the order of its positions.** Attention adds cells up in the order in which
they lie, and in half precision another order is another result, as different as that of other kernels. So a
cell below a running sequence is not freed but *retired* (occupied by nobody in particular) until nothing runs
or room is needed, and a remembered prefix that does not lie below the next free cell is copied to where it
does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.backend import Backend
from reame_core.engine.cells import CellLedger, Cells
from reame_core.engine.sequence import Sequence, common_prefix
from reame_core.engine.slot import Slot


class KVMemory:
    """Room and prefixes. At most ``residents`` finished sequences are kept.

    ``strict`` never gives the order of cells up for room: who would need that waits until nothing runs.
    ``spare`` cells are left for the padding of batches.
    """

    def __init__(self, backend: Backend, residents: int, *, strict: bool = False, spare: int = 0) -> None:
        info = backend.info
        self._backend = backend
        self._partial = info.partial_removal
        self._windowed = info.window > 0
        self._strict = strict
        self._residents = residents
        self._spare = spare
        self.ledger = CellLedger(info.kv_cells - spare)
        self._free = [Slot(index) for index in range(info.usable_sequences - 1, -1, -1)]
        self._held: list[Slot] = []
        self._retired: list[Cells] = []
        self._uses = 0

    @property
    def active(self) -> list[Slot]:
        """Slots of running sequences."""
        return [slot for slot in self._held if slot.holder is not None]

    @property
    def resident(self) -> list[Slot]:
        """Slots that only remember, least recently used first."""
        return sorted((s for s in self._held if s.holder is None), key=lambda s: s.used_at)

    @property
    def free_cells(self) -> int:
        """Cells that nothing occupies, those left for padding included."""
        return self.ledger.free + self._spare

    @property
    def promised(self) -> int:
        """Cells that running sequences have not taken yet but may."""
        return sum(s.holder.limit - 1 - s.length for s in self._held if s.holder is not None)

    @property
    def rejectable(self) -> int:
        """Drafted tokens that may all be rejected in one step without giving the order of cells up."""
        if not self._strict or len(self.active) < 2:
            return self.ledger.capacity
        return self.ledger.free - self.promised

    def longest_prefix(self, tokens: NDArray[np.int32], tenant: str) -> tuple[Slot | None, int]:
        """(slot, length) of the longest prefix of ``tokens`` in memory that can be shared."""
        best: Slot | None = None
        best_length = 0
        for slot in self._held:
            if slot.tenant != tenant or slot.length <= best_length:
                continue
            length = common_prefix(tokens, slot.held_tokens)
            if not self._partial and length < slot.length:
                continue
            if length > best_length and (not self._windowed or self._backend.covers(slot.index, length)):
                best, best_length = slot, length
        return best, best_length

    def can_share(self, prompt_length: int, length: int) -> bool:
        """Whether a sequence on its way through a prompt will at some time allow ``length`` tokens of it to
        be shared. Without partial removal that is only just before the prompt's last token."""
        return self._partial or length == prompt_length - 1

    def admit(self, sequence: Sequence) -> bool:
        """Give ``sequence`` a slot, the longest shared prefix and the promise of all cells it may need.
        False, with nothing changed but what is remembered, where there is no room now."""
        donor, shared = None, 0
        if sequence.request.reuse:
            # The last prompt token is always computed: its logits are needed.
            donor, shared = self.longest_prefix(sequence.prompt[:-1], sequence.request.tenant)
        total = sequence.limit - 1
        slot = self._make_room(total - shared, donor, shared)
        if slot is None:
            return False
        given = donor is None or slot is donor or self._share(donor, slot, shared, total)
        if donor is not None and not given and self._short_of(total):
            self._free.append(slot)
            if self.active:
                return False
            # Nothing runs that could end: what is remembered has to go, although it would have been of use.
            self.forget(donor, now=True)
            return self.admit(sequence)
        if slot not in self._held:
            self._held.append(slot)
        slot.start(sequence)
        if slot.length:
            sequence.reused["ram"] = slot.length
        return True

    def _make_room(self, need: int, donor: Slot | None, shared: int) -> Slot | None:
        """An empty slot with ``need`` free cells not promised to others, found by forgetting residents. The
        donor goes last: then it is cut to the shared prefix and continued in place instead of copied."""
        if not self._free or self._short_of(need):
            if (self._strict and self.active) or not self._possible(need, donor, shared):
                return None
            self._reclaim()
            # Strictly, nothing can be forgotten while the next ones run: so make room for them as well.
            ample = max(need, self.ledger.capacity // 2) if self._strict else need
            for victim in self.resident:
                if victim is not donor and (not self._free or self._short_of(ample)):
                    self.forget(victim, now=True)
            if not self._free or self._short_of(need):
                if donor is None or donor.holder is not None:
                    raise AssertionError("no room although forgetting all residents should have made it")
                self._cut(donor, 0 if self._strict else shared, now=True)
                return donor
        return self._free.pop()

    def _short_of(self, need: int) -> bool:
        return need > self.ledger.free - self.promised

    def _possible(self, need: int, donor: Slot | None, shared: int) -> bool:
        """Whether there would be room if nothing but running sequences and the shared prefix were kept."""
        kept = [slot.cells for slot in self.active]
        if donor is not None:
            kept.append(donor.cells[:shared])
        used = len(np.unique(np.concatenate(kept))) if kept else 0
        return need <= self.ledger.capacity - used - self.promised

    def _share(self, donor: Slot, slot: Slot, length: int, total: int) -> bool:
        """Let the empty ``slot`` have the first ``length`` tokens of ``donor``: the same cells where what comes
        next lies above them, else a copy of them, ``total`` cells being needed then. False where neither keeps
        the order of cells and it must be kept."""
        in_order = not self._partial or int(donor.cells[:length].max()) < self.ledger.lowest_free
        if in_order or (not self._strict and self._short_of(total)):
            self._backend.copy(donor.index, slot.index, length)
            cells = donor.cells[:length]
            self.ledger.share(cells)
        elif self._short_of(total):
            return False
        else:
            state = self._backend.export_range(donor.index, 0, length)
            if not self._backend.import_range(slot.index, 0, length, state):
                return False
            cells = self.ledger.place(length)
        slot.hold(cells)
        self._touch(donor)
        return True

    def computed(self, rows: list[tuple[Slot, int]]) -> None:
        """A batch has been computed that held so many rows of each slot, in this order."""
        cells = self.ledger.place(sum(count for _, count in rows))
        start = 0
        for slot, count in rows:
            slot.append(cells[start : start + count])
            start += count

    def give_up(self, slot: Slot, length: int) -> bool:
        """Keep only the first ``length`` of the tokens that ``slot`` shares with others, and promise it cells
        of its own instead. False, with nothing changed, where there are none."""
        if not self._partial or slot.length - length > self.ledger.free - self.promised:
            return False
        return self.truncate(slot, length)

    def truncate(self, slot: Slot, length: int) -> bool:
        """Keep only the first ``length`` tokens. False where the model cannot: the slot is empty then."""
        return length >= slot.length or self._cut(slot, length, now=False)

    def _cut(self, slot: Slot, length: int, *, now: bool) -> bool:
        cells = slot.cells[length:]
        if not now and self._disorders(slot, cells):
            self._backend.retire(slot.index, length)
            self._retired.append(cells.copy())
            slot.length = length
            return True
        kept = self._backend.truncate(slot.index, length)
        if not kept:
            self._backend.truncate(slot.index, 0)
            length = 0
        self.ledger.release(slot.cells[length:])
        slot.length = length
        return kept

    def _disorders(self, slot: Slot, cells: Cells) -> bool:
        """Whether freeing ``cells`` of ``slot`` would let a running sequence continue below its own cells, and
        there is room to prevent that."""
        if not self._partial or not len(freed := self.ledger.sole(cells)):
            return False
        lowest = int(freed.min())
        if all(other is slot or other.top < lowest for other in self.active):
            return False
        return self.ledger.free >= self.promised + (len(cells) if slot.holder is not None else 0)

    def _reclaim(self) -> None:
        """Free the retired cells."""
        if self._retired:
            self._backend.reclaim()
            for cells in self._retired:
                self.ledger.release(cells)
            self._retired.clear()

    def release(self, slot: Slot) -> None:
        """The holder has ended: what it computed is remembered."""
        slot.rest()
        self._touch(slot)
        if slot.length == 0:
            self.forget(slot)
        else:
            self._forget_contained(slot)
        for surplus in self.resident[: max(0, len(self.resident) - self._residents)]:
            self.forget(surplus)
        if not self.active:
            self._reclaim()

    def _forget_contained(self, newest: Slot) -> None:
        """Drop residents that hold nothing that ``newest`` does not hold too."""
        if not self._partial:
            return
        for slot in self.resident:
            if slot is newest or slot.tenant != newest.tenant or slot.length > newest.length:
                continue
            contained = common_prefix(slot.held_tokens, newest.held_tokens) == slot.length
            if contained and (not self._windowed or self._backend.covers(newest.index, slot.length)):
                self.forget(slot)

    def forget(self, slot: Slot, *, now: bool = False) -> None:
        """Free the slot, and its cells as soon as that disorders nobody, or ``now``."""
        if slot.holder is not None:
            slot.holder.slot = None
            slot.holder = None
        self._cut(slot, 0, now=now)
        slot.empty()
        self._held.remove(slot)
        self._free.append(slot)

    def discard(self, slot: Slot) -> None:
        """Free a slot whose last rows have failed and may have left cells that nobody counted."""
        self._backend.truncate(slot.index, slot.length)
        self.forget(slot)

    def forget_residents(self) -> bool:
        """Free everything that no running sequence holds; whether there was anything."""
        before = self.ledger.free
        for slot in self.resident:
            self.forget(slot, now=True)
        self._reclaim()
        return self.ledger.free > before

    def reset(self) -> None:
        """Forget everything, running sequences included."""
        for slot in self._held:
            if slot.holder is not None:
                slot.holder.slot = None
            slot.empty()
        self._free += self._held
        self._held.clear()
        self._retired.clear()
        self.ledger.reset()
        self._backend.clear()

    def _touch(self, slot: Slot) -> None:
        self._uses += 1
        slot.used_at = self._uses
