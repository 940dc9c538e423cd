"""Which rows the next batch holds: newest tokens and drafts first, then as much prompt as the stall
budget allows."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import dataclass

from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.sequence import Sequence
from reame_core.plugins.api import Draft

GRID = 64
"""Prompts are cut at multiples of this, or of the largest power of two that fits the budget: from 64 rows
on llama.cpp's attention works in tiles, and a prefix is reusable at the positions where prompts are cut."""


@dataclass(frozen=True, slots=True)
class Part:
    """One sequence's rows in a batch: its tokens [start, end), and a draft behind them."""

    sequence: Sequence
    start: int
    end: int
    draft: Draft | None = None

    @property
    def rows(self) -> int:
        return self.end - self.start + (len(self.draft.tokens) if self.draft else 0)

    @property
    def reaches_the_newest(self) -> bool:
        """Whether the batch computes the last known token, so that the next one can be chosen."""
        return self.end == self.sequence.known


@dataclass(frozen=True, slots=True)
class Scheduler:
    """``max_rows`` rows a batch at most. While anybody decodes, prompts do not make a batch longer than
    ``stall_ms`` (as ``cost`` expects), but somebody's prompt always gets on by a row. Where there are more
    sequences than rows, those that come first in ``running`` are served."""

    cost: BatchCost
    max_rows: int
    stall_ms: float
    max_outputs: int = 64
    """Rows that may want logits in one batch."""
    whole_prompts: bool = True
    """False for models that cannot drop part of a sequence: there the last prompt token is computed in a
    batch of its own, so that others with the same prompt can share all before it."""

    def plan(self, running: Many[Sequence], draft: Callable[[Sequence, int], Draft | None]) -> list[Part]:
        """``running`` in the order in which they are served; ``draft`` asks for at most so many tokens."""
        served = running[: min(self.max_rows, self.max_outputs)]
        decoding = [s for s in served if s.decoding]
        filling = [s for s in served if not s.decoding]
        spare = self.max_rows - len(decoding)
        if decoding and filling:
            within = self.cost.rows_within(self.stall_ms, self.max_rows)
            spare = max(1, within - len(decoding))
        # Drafts leave at least half of the rows to prompts.
        drafts = min(spare // 2 if filling else spare, self.max_outputs - len(served))
        parts: list[Part] = []
        for sequence in decoding:
            limit = min(drafts, sequence.room - 1)
            guess = draft(sequence, limit) if limit > 0 else None
            part = Part(sequence, sequence.known - 1, sequence.known, guess)
            drafts -= part.rows - 1
            spare -= part.rows - 1
            parts.append(part)
        return parts + self._chunks(filling, spare)

    def _chunks(self, filling: Many[Sequence], budget: int) -> list[Part]:
        """``budget`` rows of prompt, shared evenly; what short prompts leave goes to the longer ones."""
        parts: list[Part] = []
        waiting = sorted(filling[:budget], key=lambda s: s.known - s.computed)
        for index, sequence in enumerate(waiting):
            end = self._cut(sequence, budget // (len(waiting) - index))
            parts.append(Part(sequence, sequence.computed, end))
            budget -= end - sequence.computed
        return parts

    def _cut(self, sequence: Sequence, share: int) -> int:
        start = sequence.computed
        last = sequence.known if self.whole_prompts or start >= sequence.known - 1 else sequence.known - 1
        if last - start <= share:
            return last
        grid = GRID
        while grid > 1 and (start + share) // grid * grid <= start:
            grid //= 2
        return (start + share) // grid * grid
