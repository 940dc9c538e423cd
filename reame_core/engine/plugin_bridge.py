"""Between the engine and its plugins: what they are handed is limited, what they answer is checked."""

from __future__ import annotations

import logging
import operator
import threading
from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.backend import Backend
from reame_core.engine.group import RequestGroup
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.kv_memory import KVMemory
from reame_core.engine.sequence import Sequence
from reame_core.engine.slot import Slot
from reame_core.plugins.api import (
    CandidateState,
    Draft,
    DraftPrice,
    DraftWish,
    SequenceView,
    Stage,
    Verdict,
)

log = logging.getLogger("reame.plugins")

_ENDED = (CandidateState.ENDED, CandidateState.TRUNCATED)


class SlotAccess:
    """``KVAccess`` to one slot for one hook call; useless afterwards."""

    def __init__(
        self,
        backend: Backend,
        memory: KVMemory,
        slot: Slot,
        *,
        restore_below: int = 0,
        length_limit: int | None = None,
        seconds: float = 0.0,
    ) -> None:
        self._backend = backend
        self._memory = memory
        self._slot: Slot | None = slot
        self._restore_below = restore_below
        self._length_limit = length_limit
        self._seconds = seconds
        self.more = False
        """Whether to call the hook again."""
        self.waiting: tuple[threading.Event, float] | None = None
        """For what to wait before that, and how many seconds at most."""

    def close(self) -> None:
        self._slot = None

    def _open_slot(self) -> Slot:
        if self._slot is None:
            raise RuntimeError("KVAccess is only valid during the hook call it was given to")
        return self._slot

    @property
    def length(self) -> int:
        length = self._open_slot().length
        return length if self._length_limit is None else min(length, self._length_limit)

    def export(self, start: int, end: int) -> bytes:
        slot = self._open_slot()
        if not 0 <= start < end <= self.length:
            raise ValueError(f"[{start}, {end}) is not within the {self.length} positions in memory")
        return self._backend.export_range(slot.index, start, end)

    def restore(self, end: int, state: bytes | memoryview, keep: int | None = None) -> bool:
        slot = self._open_slot()
        kept = end if keep is None else keep
        if not slot.length < kept < self._restore_below or kept > end:
            raise ValueError(
                f"cannot restore up to {kept}: {slot.length} positions are in memory, the state ends at {end} "
                f"and what is kept must stay below {self._restore_below}"
            )
        if end - slot.length > self._memory.ledger.free:
            return False
        if not self._backend.import_range(slot.index, slot.length, end, state, kept):
            return False
        self._memory.computed([(slot, kept - slot.length)])
        return True

    def cut(self, length: int) -> bool:
        slot = self._open_slot()
        if not 0 <= length <= slot.length or not self._restore_below:
            raise ValueError(
                f"cannot cut to {length}: {slot.length} positions are in memory, and only on_prefill may do it"
            )
        return self._memory.give_up(slot, length)

    @property
    def seconds(self) -> float:
        return self._seconds

    def go_on_later(self) -> None:
        self._open_slot()
        self.more = True

    def wait_for(self, event: threading.Event, seconds: float) -> None:
        self._open_slot()
        if not self._restore_below:
            raise ValueError("only on_prefill may wait")
        self.waiting = event, float(seconds)


@dataclass(frozen=True, slots=True)
class Continuation:
    """A plugin has more to restore."""

    plugin: int
    """Its number."""
    progress: bool
    """Whether it has restored anything this time."""
    waiting: tuple[threading.Event, float] | None = None
    """For what it waits, and how many seconds at most."""


class PluginBridge:
    """Calls the hooks for the engine."""

    def __init__(self, hooks: EngineHooks, backend: Backend, memory: KVMemory) -> None:
        self._hooks = hooks
        self._backend = backend
        self._memory = memory
        self._can_draft = backend.info.partial_removal
        self._drafters = dict(hooks.propose_draft.calls)
        self._computers = dict(hooks.compute_drafts.calls)
        self._pricers = dict(hooks.price_drafts.calls)

    def on_prefill(self, sequence: Sequence, seconds: float, first: int = 0) -> Continuation | None:
        """Let plugins, from number ``first`` on, restore what memory does not have of the prompt, each for so
        many ``seconds``. How one goes on that has more to restore."""
        slot = sequence.slot
        if not sequence.request.reuse or slot is None:
            return None
        for number, (plugin, call) in enumerate(self._hooks.on_prefill.calls[first:], first):
            access = SlotAccess(
                self._backend, self._memory, slot, restore_below=sequence.prompt_length, seconds=seconds
            )
            before = slot.length
            answer = call(sequence, access)
            access.close()
            if slot.length > before:
                sequence.reused[plugin] = sequence.reused.get(plugin, 0) + slot.length - before
            elif slot.length < before:
                _limit(sequence.reused, slot.length)
            gained = slot.length > before
            if access.waiting is not None:
                return Continuation(number, gained, access.waiting)
            if _is_whole(answer):
                return Continuation(number, gained) if access.more and gained else None
            if answer is not None:
                log.warning("plugin %s: on_prefill answered %.80r, not a number of tokens", plugin, answer)
        return None

    @property
    def draft_sources(self) -> tuple[str, ...]:
        """The plugins that propose drafts, in the order in which they are asked. None for a model that could
        not take a rejected token back."""
        return tuple(self._drafters) if self._can_draft else ()

    def propose_draft(self, source: str, sequence: Sequence, limit: int) -> Draft | None:
        """A usable draft of at most ``limit`` tokens from the plugin ``source``."""
        answer = self._drafters[source](sequence, limit)
        usable = self._checked(source, "propose_draft", sequence, limit, answer)
        return usable if usable is not None and usable.tokens else None

    @property
    def computing_sources(self) -> tuple[str, ...]:
        """The plugins that compute drafts at a price."""
        return tuple(name for name in self._computers if name in self._pricers) if self._can_draft else ()

    def price_drafts(self, source: str, wishes: Many[DraftWish]) -> DraftPrice | None:
        """What the plugin ``source`` asks for drafts."""
        price = self._pricers[source](wishes)
        if price is None or (isinstance(price, DraftPrice) and price.is_sound):
            return price
        log.warning("plugin %s: price_drafts answered %.80r, no price", source, price)
        return None

    def compute_drafts(self, source: str, wishes: Many[DraftWish]) -> list[Draft | None] | None:
        """Usable drafts of the plugin ``source``, in the order of ``wishes``. Empty ones say that it is too
        unsure of the next token."""
        drafts = self._computers[source](wishes)
        if drafts is None:
            return None
        if not isinstance(drafts, (list, tuple)) or len(drafts) != len(wishes):
            log.warning("plugin %s: compute_drafts answered %.80r, no list of drafts", source, drafts)
            return None
        return [
            self._checked(source, "compute_drafts", wish.sequence, wish.limit, draft)
            for wish, draft in zip(wishes, drafts, strict=True)
        ]

    def _checked(
        self, source: str, hook: str, sequence: SequenceView, limit: int, draft: Draft | None
    ) -> Draft | None:
        if draft is None:
            return None
        try:
            usable = self._usable(draft, limit)
        except Exception as error:
            log.warning("plugin %s: %s answered %.80r, no usable draft: %s", source, hook, draft, error)
            return None
        if isinstance(sequence, Sequence) and sequence.constrained is not None and usable.tokens:
            return sequence.constrained.cut(usable)
        return usable

    def _usable(self, draft: Draft, limit: int) -> Draft:
        """``draft`` cut to ``limit`` tokens. Raises whatever for what is no draft."""
        size = self._backend.info.vocabulary_size
        tokens = tuple(operator.index(token) for token in draft.tokens[:limit])
        if not all(0 <= token < size for token in tokens):
            raise ValueError("it holds tokens outside the vocabulary")
        rows = draft.distributions
        if rows is not None and tokens:
            if rows.shape != (len(draft.tokens), size):
                raise ValueError(f"its distributions have the shape {rows.shape}")
            rows = rows[:limit]
            drawn = rows[np.arange(len(tokens)), tokens]
            if not (rows.min() >= 0 and drawn.min() > 0 and np.allclose(rows.sum(axis=1), 1, atol=1e-3)):
                raise ValueError("it cannot have been drawn from its distributions")
        shares = None if draft.probabilities is None else tuple(map(float, draft.probabilities[:limit]))
        belief = None if draft.confidence is None else float(draft.confidence)
        match = None if draft.match_length is None else operator.index(draft.match_length)
        if (belief is not None and not 0 <= belief <= 1) or (match is not None and match < 0):
            raise ValueError(f"confidence {belief} or match length {match} is out of range")
        return Draft(tokens, shares, rows, belief, match, str(draft.label))

    def verify(self, sequence: Sequence, draft: Draft, logits: NDArray[np.float32]) -> Verdict | None:
        """The verdict of the first plugin that gives one."""
        for plugin, call in self._hooks.verify.calls:
            # A copy, so that a plugin that gives up half-way leaves no trace.
            sampler = sequence.sampler.fork()
            verdict = call(sequence, draft, logits, sampler)
            if self._is_verdict(verdict, draft) and _possible(verdict, draft, logits):
                sequence.sampler = sampler
                return Verdict(int(verdict.accepted), int(verdict.next_token))
            if verdict is not None:
                log.warning("plugin %s: verify answered %.80r, no verdict on this draft", plugin, verdict)
        return None

    def _is_verdict(self, verdict: object, draft: Draft) -> TypeGuard[Verdict]:
        return (
            isinstance(verdict, Verdict)
            and _is_whole(verdict.accepted)
            and _is_whole(verdict.next_token)
            and 0 <= verdict.accepted <= len(draft.tokens)
            and 0 <= verdict.next_token < self._backend.info.vocabulary_size
        )

    def select_winner(self, group: RequestGroup) -> int | None:
        """The choice that wins, if a plugin is sure by now."""
        state = group.candidates()
        for plugin, call in self._hooks.select_winner.calls:
            choice = call(state)
            if _is_whole(choice) and 0 <= choice < group.choices and state.candidates[choice].state in _ENDED:
                return int(choice)
            if choice is not None:
                log.warning("plugin %s: select_winner answered %.80r, no choice that has ended", plugin, choice)
        return None

    def persist(self, sequence: Sequence, stage: Stage) -> None:
        """Offer what is in memory to the plugins."""
        if self._hooks.persist and sequence.slot is not None and sequence.slot.length:
            # Behind the tokens that are known there may be those of a draft that nobody has judged yet.
            access = SlotAccess(self._backend, self._memory, sequence.slot, length_limit=sequence.known)
            self._hooks.persist.all(sequence, access, stage)
            access.close()


def _possible(verdict: Verdict, draft: Draft, logits: NDArray[np.float32]) -> bool:
    """Whether a constraint allows all that is kept."""
    kept = [*draft.tokens[: verdict.accepted], verdict.next_token]
    return bool((logits[np.arange(len(kept)), kept] > -np.inf).all())


def _limit(reused: dict[str, int], total: int) -> None:
    """Lower the counts, the last ones first, so that they add up to ``total``."""
    for tier in reversed(list(reused)):
        surplus = sum(reused.values()) - total
        reused[tier] -= min(surplus, reused[tier])
        if not reused[tier]:
            del reused[tier]


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
