"""Which sequence of the draft model's KV memory holds what: one for each sequence of the served model, kept in
step with it, and those of ended ones as long as there is room, for whoever goes on from there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reame_core.plugins.api import Backend, SequenceView

Tokens = NDArray[np.int32]


@dataclass(slots=True, eq=False)
class Lane:
    """``tokens[:length]`` are in memory, in sequence ``index`` of the backend."""

    index: int
    tokens: Tokens
    length: int = 0
    tenant: str = ""
    owner: int | None = None
    """The number of the sequence it is for; None when that has ended."""
    used: int = 0
    """When it was used last, in calls."""
    reserved: int = 0
    """Tokens that it may hold at the end of the call under way; 0 for lanes that have no part in it."""

    @property
    def size(self) -> int:
        """Cells it takes, now or soon."""
        return max(self.length, self.reserved)


class Lanes:
    """At most ``count`` lanes in ``cells`` cells, each of at most ``longest`` tokens. Cells that lanes share
    count for each of them."""

    def __init__(self, backend: Backend, cells: int, longest: int, count: int) -> None:
        self.longest = longest
        self._backend = backend
        self._cells = cells
        self._lanes: list[Lane] = []
        self._free = list(range(count))[::-1]
        self._calls = 0

    @property
    def held(self) -> int:
        """Tokens in all lanes."""
        return sum(lane.length for lane in self._lanes)

    def begin(self) -> None:
        """A new call: no lane has a part in it yet."""
        self._calls += 1
        for lane in self._lanes:
            lane.reserved = 0

    def missing(self, sequence: SequenceView) -> int:
        """How many of the sequence's tokens are not in memory; the newest is computed again at least."""
        tokens = sequence.tokens
        lane = self._of(sequence)
        known = common_prefix(lane, tokens) if lane else self._longest_prefix(sequence)[1]
        return len(tokens) - min(known, len(tokens) - 1)

    def take(self, sequence: SequenceView, ahead: int) -> Lane | None:
        """The lane of ``sequence``, holding what it has of the sequence's tokens and nothing else, with room
        for all of them and ``ahead`` more. None where those taken since ``begin`` leave no room."""
        tokens = sequence.tokens
        lane = self._of(sequence) or self._new_lane(sequence)
        if lane is None:
            return None
        lane.used = self._calls
        self._cut(lane, min(common_prefix(lane, tokens), len(tokens) - 1))
        lane.reserved = len(tokens) + ahead
        if self._make_room(0):
            return lane
        lane.reserved = 0
        return None

    def _of(self, sequence: SequenceView) -> Lane | None:
        return next((lane for lane in self._lanes if lane.owner == sequence.id), None)

    def _longest_prefix(self, sequence: SequenceView) -> tuple[Lane | None, int]:
        """The lane of the same tenant that begins most like ``sequence``."""
        alike = [lane for lane in self._lanes if lane.tenant == sequence.request.tenant]
        best = max(alike, key=lambda lane: common_prefix(lane, sequence.tokens), default=None)
        length = common_prefix(best, sequence.tokens) if best is not None else 0
        return (best, length) if length else (None, 0)

    def _new_lane(self, sequence: SequenceView) -> Lane | None:
        donor, length = self._longest_prefix(sequence)
        if donor is not None and donor.owner is None:
            donor.owner = sequence.id
            return donor
        if not self._free and not self._drop_one(spare=donor):
            return None
        if donor is not None and not self._make_room(length, spare=donor):
            donor = None
        lane = Lane(self._free.pop(), np.empty(self.longest, np.int32))
        lane.tenant, lane.owner = sequence.request.tenant, sequence.id
        if donor is not None:
            self._backend.copy(donor.index, lane.index, length)
            self.extend(lane, donor.tokens[:length])
        self._lanes.append(lane)
        return lane

    def _make_room(self, need: int, spare: Lane | None = None) -> bool:
        while sum(lane.size for lane in self._lanes) + need > self._cells:
            if not self._drop_one(spare):
                return False
        return True

    def _drop_one(self, spare: Lane | None) -> bool:
        """Give up a lane without a part in the call, and not ``spare``: one whose sequence has ended if there
        is any, the least recently used one."""
        idle = [lane for lane in self._lanes if not lane.reserved and lane is not spare]
        if not idle:
            return False
        dropped = min(idle, key=lambda lane: (lane.owner is not None, lane.used))
        self._backend.truncate(dropped.index, 0)
        self._lanes.remove(dropped)
        self._free.append(dropped.index)
        return True

    def _cut(self, lane: Lane, length: int) -> None:
        if length < lane.length:
            self._backend.truncate(lane.index, length)
            lane.length = length

    def extend(self, lane: Lane, tokens: Tokens | list[int]) -> None:
        """``tokens`` have been computed at the end of ``lane``."""
        end = lane.length + len(tokens)
        lane.tokens[lane.length : end] = tokens
        lane.length = end

    def end(self, sequence: int) -> None:
        """The sequence has ended; what is known of it may be of use to others of its tenant."""
        for lane in self._lanes:
            if lane.owner == sequence:
                lane.owner = None

    def clear(self) -> None:
        """Forget everything: nothing in memory can be trusted."""
        self._backend.clear()
        self._free += [lane.index for lane in self._lanes]
        self._lanes = []


def common_prefix(lane: Lane, tokens: Tokens) -> int:
    """How many of ``tokens`` the lane begins with."""
    length = min(lane.length, len(tokens))
    different = lane.tokens[:length] != tokens[:length]
    first = int(different.argmax()) if length else 0
    return first if length and different[first] else length
