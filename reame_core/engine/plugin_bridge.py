"""Between the engine and its plugins: what they are handed is limited, what they answer is checked."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reame_core.engine.backend import Backend
from reame_core.engine.group import RequestGroup
from reame_core.engine.hooks import EngineHooks
from reame_core.engine.kv_memory import KVMemory, Slot
from reame_core.engine.sequence import Sequence
from reame_core.plugins.api import Draft, Stage, Verdict

log = logging.getLogger("reame.plugins")


class SlotAccess:
    """``KVAccess`` to one slot for one hook call; useless afterwards."""

    def __init__(self, backend: Backend, memory: KVMemory, slot: Slot, restore_below: int = 0) -> None:
        self._backend = backend
        self._memory = memory
        self._slot: Slot | None = slot
        self._restore_below = restore_below

    def close(self) -> None:
        self._slot = None

    def _open_slot(self) -> Slot:
        if self._slot is None:
            raise RuntimeError("KVAccess is only valid during the hook call it was given to")
        return self._slot

    @property
    def length(self) -> int:
        return self._open_slot().length

    def export(self, start: int, end: int) -> bytes:
        slot = self._open_slot()
        if not 0 <= start < end <= slot.length:
            raise ValueError(f"[{start}, {end}) is not within the {slot.length} positions in memory")
        return self._backend.export_range(slot.index, start, end)

    def restore(self, end: int, state: bytes) -> bool:
        slot = self._open_slot()
        if not slot.length < end < self._restore_below:
            raise ValueError(
                f"cannot restore up to {end}: {slot.length} positions are in memory and the end must stay "
                f"below {self._restore_below}"
            )
        if not self._backend.import_range(slot.index, slot.length, end, state):
            return False
        self._memory.grow(slot, end - slot.length)
        return True


class PluginBridge:
    """Calls the hooks for the engine."""

    def __init__(self, hooks: EngineHooks, backend: Backend, memory: KVMemory) -> None:
        self._hooks = hooks
        self._backend = backend
        self._memory = memory
        self._can_draft = backend.info.partial_removal

    def on_prefill(self, sequence: Sequence) -> None:
        """Let plugins restore what memory does not have of the prompt."""
        slot = sequence.slot
        if not self._hooks.on_prefill or not sequence.request.reuse or slot is None:
            return
        before = slot.length
        for plugin, call in self._hooks.on_prefill.calls:
            access = SlotAccess(self._backend, self._memory, slot, sequence.prompt_length)
            start = slot.length
            answer = call(sequence, access)
            access.close()
            if slot.length > start:
                sequence.reused[plugin] = sequence.reused.get(plugin, 0) + slot.length - start
            if answer is not None:
                break
        if slot.length < before:
            raise AssertionError("a hook removed cells")

    def propose_draft(self, sequence: Sequence, limit: int) -> Draft | None:
        """The first usable draft of at most ``limit`` tokens."""
        if not self._hooks.propose_draft or not self._can_draft or not sequence.request.speculate or limit < 1:
            return None
        for plugin, call in self._hooks.propose_draft.calls:
            draft = call(sequence, limit)
            if draft is not None and (usable := self._usable(draft, limit, plugin)) is not None:
                return usable
        return None

    def _usable(self, draft: Draft, limit: int, plugin: str) -> Draft | None:
        try:
            tokens = [int(token) for token in draft.tokens[:limit]]
            in_vocabulary = all(0 <= token < self._backend.info.vocabulary_size for token in tokens)
        except (AttributeError, TypeError, ValueError) as error:
            log.warning("plugin %s: propose_draft answered %.80r, not a Draft: %s", plugin, draft, error)
            return None
        if not in_vocabulary:
            log.warning("plugin %s: propose_draft answered tokens outside the vocabulary", plugin)
            return None
        if not tokens:
            return None
        rows = draft.distributions
        if rows is not None and rows.shape != (len(draft.tokens), self._backend.info.vocabulary_size):
            log.warning("plugin %s: propose_draft gave distributions of shape %s", plugin, rows.shape)
            return None
        return Draft(tokens, draft.probabilities, None if rows is None else rows[:limit], draft.confidence)

    def verify(self, sequence: Sequence, draft: Draft, logits: NDArray[np.float32]) -> Verdict | None:
        """The verdict of the first plugin that gives one."""
        answer = self._hooks.verify.first(sequence, draft, logits, sequence.sampler)
        if answer is None:
            return None
        plugin, verdict = answer
        sound = (
            isinstance(verdict, Verdict)
            and 0 <= verdict.accepted <= len(draft.tokens)
            and 0 <= verdict.next_token < self._backend.info.vocabulary_size
        )
        if not isinstance(verdict, Verdict) or not sound:
            log.warning("plugin %s: verify answered %.80r, which is no verdict on this draft", plugin, verdict)
            return None
        return verdict

    def select_winner(self, group: RequestGroup) -> int | None:
        """The choice that wins, if a plugin is sure by now."""
        answer = self._hooks.select_winner.first(group.candidates())
        if answer is None:
            return None
        plugin, choice = answer
        if not isinstance(choice, int) or not 0 <= choice < group.choices:
            log.warning("plugin %s: select_winner answered %.80r, which is no choice", plugin, choice)
            return None
        return choice

    def persist(self, sequence: Sequence, stage: Stage) -> None:
        """Offer what is in memory to the plugins."""
        if self._hooks.persist and sequence.slot is not None and sequence.slot.length:
            access = SlotAccess(self._backend, self._memory, sequence.slot)
            self._hooks.persist.all(sequence, access, stage)
            access.close()


DraftSource = Callable[[Sequence, int], Draft | None]
