"""The KV memory: which sequence numbers hold which tokens, who may grow, and what is remembered.

A finished sequence stays resident until its cells or its number are needed, least recently used first. A
new prompt shares the longest prefix that any sequence holds, whether that is running or resident.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.backend import Backend
from reame_core.engine.cells import CellLedger
from reame_core.engine.sequence import Sequence, common_prefix


class Slot:
    """One sequence number of the backend and the tokens it has cells for."""

    __slots__ = ("cells", "holder", "index", "length", "tenant", "tokens", "used_at")

    def __init__(self, index: int) -> None:
        self.index = index
        self.empty()

    def empty(self) -> None:
        self.length = 0
        self.tokens: NDArray[np.int32] = np.empty(0, np.int32)
        self.cells: NDArray[np.int32] = np.empty(0, np.int32)
        self.tenant = ""
        self.holder: Sequence | None = None
        self.used_at = 0

    @property
    def held_tokens(self) -> NDArray[np.int32]:
        """(length,) the tokens in memory."""
        return self.tokens[: self.length]


class KVMemory:
    """Room and prefixes. ``keep_order`` never frees cells while a sequence is running, so that the cells of
    each sequence lie in the order of its positions (attention adds them up in that order)."""

    def __init__(self, backend: Backend, residents: int, *, keep_order: bool = False) -> None:
        info = backend.info
        self._backend = backend
        self._partial = info.partial_removal
        self._windowed = info.window > 0
        self._keep_order = keep_order
        self._residents = residents
        self.ledger = CellLedger(info.kv_cells)
        # The last sequence number is left to the backend and to padding.
        self._free = [Slot(index) for index in range(info.max_sequences - 2, -1, -1)]
        self._held: list[Slot] = []
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
    def promised(self) -> int:
        """Cells that running sequences have not taken yet but may."""
        return sum(s.holder.limit - 1 - s.length for s in self._held if s.holder is not None)

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
        False, with nothing changed, where there is no room now."""
        donor, shared = None, 0
        if sequence.request.reuse:
            # The last prompt token is always computed: its logits are needed.
            donor, shared = self.longest_prefix(sequence.prompt[:-1], sequence.request.tenant)
        slot = self._make_room(sequence.limit - 1 - shared, donor, shared)
        if slot is None:
            return False
        cells = np.empty(sequence.limit, np.int32)
        if donor is None:
            pass
        elif slot is donor:
            cells[:shared] = donor.cells[:shared]
        else:
            self._backend.copy(donor.index, slot.index, shared)
            self.ledger.share(donor.cells, cells, shared)
            self._touch(donor)
        slot.holder = sequence
        slot.tenant = sequence.request.tenant
        slot.tokens = sequence.buffer
        slot.cells = cells
        slot.length = shared
        sequence.slot = slot
        if shared:
            sequence.reused["ram"] = shared
        return True

    def _make_room(self, need: int, donor: Slot | None, shared: int) -> Slot | None:
        """An empty slot with ``need`` free cells not promised to others, found by forgetting residents. The
        donor goes last: then it is cut to the shared prefix and continued in place instead of copied."""
        if self._short_of(need):
            if self._order_matters or not self._possible(need, donor, shared):
                return None
            for victim in self.resident:
                if victim is not donor and self._short_of(need):
                    self.forget(victim)
            if self._short_of(need):
                if donor is None or donor.holder is not None:
                    raise AssertionError("no room although forgetting all residents should have made it")
                self.truncate(donor, shared)
                return donor
        slot = self._free.pop()
        self._held.append(slot)
        return slot

    def _short_of(self, need: int) -> bool:
        return not self._free or need > self.ledger.free - self.promised

    def _possible(self, need: int, donor: Slot | None, shared: int) -> bool:
        """Whether there would be room if nothing but running sequences and the shared prefix were kept."""
        kept = [slot.cells[: slot.length] for slot in self.active]
        if donor is not None:
            kept.append(donor.cells[:shared])
        used = len(np.unique(np.concatenate(kept))) if kept else 0
        return need <= self.ledger.capacity - used - self.promised

    @property
    def _order_matters(self) -> bool:
        return self._keep_order and bool(self.active)

    def grow(self, slot: Slot, count: int) -> None:
        """``count`` more tokens of the holder have been computed or restored."""
        self.ledger.take(slot.cells, slot.length, count)
        slot.length += count

    def truncate(self, slot: Slot, length: int) -> bool:
        """Keep only the first ``length`` tokens. False where the model cannot: the slot is empty then."""
        if length >= slot.length:
            return True
        kept = self._backend.truncate(slot.index, length)
        if not kept:
            self._backend.truncate(slot.index, 0)
            length = 0
        self.ledger.give_back(slot.cells, length, slot.length)
        slot.length = length
        return kept

    def release(self, slot: Slot) -> None:
        """The holder has ended: what it computed is remembered."""
        slot.holder = None
        if slot.length == 0:
            self.forget(slot)
            return
        slot.tokens = slot.held_tokens.copy()
        slot.cells = slot.cells[: slot.length].copy()
        self._touch(slot)
        if not self._order_matters:
            self._forget_contained(slot)
            for surplus in self.resident[: max(0, len(self.resident) - self._residents)]:
                self.forget(surplus)

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

    def forget(self, slot: Slot) -> None:
        """Free the slot and its cells."""
        self._backend.truncate(slot.index, 0)
        self.ledger.give_back(slot.cells, 0, slot.length)
        if slot.holder is not None:
            slot.holder.slot = None
        slot.empty()
        self._held.remove(slot)
        self._free.append(slot)

    def forget_residents(self) -> bool:
        """Free everything that no running sequence holds; whether there was anything."""
        residents = self.resident
        for slot in residents:
            self.forget(slot)
        return bool(residents)

    def reset(self) -> None:
        """Forget everything, running sequences included."""
        for slot in list(self._held):
            self.forget(slot)
        self._backend.clear()
        self.ledger.reset()

    def _touch(self, slot: Slot) -> None:
        self._uses += 1
        slot.used_at = self._uses
