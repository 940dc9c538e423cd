"""Which rows the next batch holds: newest tokens and drafts first, then as much prompt as the stall
budget allows."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import dataclass, replace

from reame_core.engine.attention import NOTHING, attended
from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.bids import DraftRoom, Proposal
from reame_core.engine.noise import LAST_SMALL_BATCH
from reame_core.engine.sequence import Sequence

GRID = 64
"""Prompts are cut at multiples of this, or of a smaller power of two where the budget is small: from 64 rows
on llama.cpp's attention works in tiles, and a prefix is reusable at the positions where prompts are cut."""


@dataclass(frozen=True, slots=True)
class Part:
    """One sequence's rows in a batch: its tokens [start, end), and a draft behind them."""

    sequence: Sequence
    start: int
    end: int
    proposal: Proposal | None = None

    @property
    def drafted(self) -> int:
        """Rows of the draft."""
        return len(self.proposal.draft.tokens) if self.proposal else 0

    @property
    def rows(self) -> int:
        return self.end - self.start + self.drafted

    @property
    def reaches_the_newest(self) -> bool:
        """Whether the batch computes the last known token, so that the next one can be chosen."""
        return self.end == self.sequence.known


DraftChoice = Callable[[Many[Sequence], int, DraftRoom], dict[int, Proposal]]
"""(sequences, rows without drafts, room) to drafts by the id of their sequence."""


@dataclass(frozen=True, slots=True)
class Scheduler:
    """``max_rows`` rows a batch at most. While anybody decodes, prompts make a batch longer by ``stall_ms`` at
    most (as ``cost`` expects), but somebody's prompt always gets on by a row. Where there are more
    sequences than rows, those that come first in ``running`` are served."""

    cost: BatchCost
    max_rows: int
    stall_ms: float
    max_outputs: int = 64
    """Rows that may want logits in one batch."""
    most_with_drafts: int = LAST_SMALL_BATCH
    """Rows of a batch to which drafts may still be added."""
    ends_in_small_batches: bool = False
    """True lets the last row of a prompt wait for a batch of up to ``most_with_drafts`` rows. Where those are
    bit-identical, an answer to a remembered prompt, whose last row alone is computed, is then the first answer
    again. Costs a batch of few rows for each prompt that is longer than those."""
    whole_prompts: bool = True
    """False for models that cannot drop part of a sequence: there the last prompt token is computed in a
    batch of its own, so that others with the same prompt can share all before it."""

    def plan(self, running: Many[Sequence], drafts: DraftChoice, rejectable: int) -> list[Part]:
        """``running`` in the order in which they are served; ``drafts`` chooses drafts for some of them,
        of ``rejectable`` tokens in all."""
        served = running[: min(self.max_rows, self.max_outputs)]
        decoding = [s for s in served if s.decoding]
        filling = [s for s in served if not s.decoding]
        spare = self.max_rows - len(decoding)
        within = self._within(decoding, filling, spare, len(decoding))
        if decoding and filling:
            spare = min(spare, within)
        outputs = min(self.max_outputs - len(served), rejectable)
        small = self.most_with_drafts - len(decoding)
        # Drafts leave at least half of the rows to prompts.
        most = min(spare // 2 if filling else spare, outputs, small)
        gentle = min(most, self._within(decoding, filling, spare, None) if filling else within)
        room = DraftRoom(most, gentle, attended((1, s.computed) for s in decoding))
        chosen = drafts(decoding, len(decoding), room) if decoding else {}
        parts = [Part(s, s.known - 1, s.known, chosen.get(s.id)) for s in decoding]
        drafted = sum(part.drafted for part in parts)
        if drafted and filling:
            spare = min(spare, self._within(decoding, filling, spare, len(decoding) + drafted))
        chunks = self._chunks(filling, max(1, spare - drafted))
        if self.ends_in_small_batches:
            chunks = self._without_ends(chunks, len(decoding) + drafted)
        prompt_rows = sum(chunk.rows for chunk in chunks)
        reads = attended((part.rows, part.start) for part in (*parts, *chunks))
        most = min(spare - prompt_rows, outputs, small - prompt_rows) - drafted
        silent = prompt_rows - sum(chunk.reaches_the_newest for chunk in chunks)
        riders = DraftRoom(most, attended=reads, others=len(decoding), silent=silent)
        return parts + self._with_riders(chunks, len(decoding) + drafted, riders, drafts)

    def _within(
        self, decoding: Many[Sequence], filling: Many[Sequence], spare: int, outputs: int | None
    ) -> int:
        """How many of the ``spare`` rows delay those who are ``decoding`` by ``stall_ms`` at most: rows of
        prompts where there are any, of which then so many want logits (``outputs``) as are not of prompts, or
        all; else of drafts. Never none."""
        if not filling and len(decoding) < 2:  # nobody waits
            return max(1, spare)
        growing = filling or decoding
        # Rows that nobody can fill would promise the price of a larger batch, which may be lower.
        most = len(decoding) + (min(spare, sum(s.known - s.computed for s in filling)) if filling else spare)
        context = sum(s.computed for s in growing) / len(growing)
        reads = attended((1, s.computed) for s in decoding)
        beside = reads if filling else NOTHING
        # Beyond what the step takes anyway: several users' step may come near the budget by itself, and rows
        # that trickle in one by one are the dearest.
        alone = self.cost.estimate(len(decoding), len(decoding), reads) or 0.0
        loud = outputs if filling else None
        within = self.cost.rows_within(alone + self.stall_ms, most, context, beside, loud)
        return max(1, within - len(decoding))

    def _without_ends(self, chunks: list[Part], others: int) -> list[Part]:
        """``chunks`` beside ``others`` rows, without the last rows of prompts where that is a large batch."""
        if others + sum(chunk.rows for chunk in chunks) <= self.most_with_drafts:
            return chunks
        return [
            replace(chunk, end=chunk.end - 1) if chunk.reaches_the_newest and chunk.rows > 1 else chunk
            for chunk in chunks
        ]

    @staticmethod
    def _with_riders(chunks: list[Part], rows: int, room: DraftRoom, drafts: DraftChoice) -> list[Part]:
        """``chunks``, with drafts for the answers to prompts that are complete with this batch."""
        ready = [chunk.sequence for chunk in chunks if chunk.reaches_the_newest]
        if not ready or room.most < 1:
            return chunks
        chosen = drafts(ready, rows + sum(chunk.rows for chunk in chunks), room)
        return [replace(chunk, proposal=chosen.get(chunk.sequence.id)) for chunk in chunks]

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
        # Less than a third of the rows is given up for the sake of the grid.
        grid = min(GRID, 1 << max(0, (share // 3).bit_length() - 1))
        return (start + share) // grid * grid
