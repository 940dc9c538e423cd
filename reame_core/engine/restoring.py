"""Sequences of which plugins are putting a prefix into memory: a long one part by part, so that the others'
next tokens come in between, and one that comes from elsewhere as soon as it has come."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from reame_core.engine.plugin_bridge import Continuation, PluginBridge
from reame_core.engine.sequence import Sequence

MOST_WAITED_S = 1.0
"""A sequence waits no longer than this without anything being restored; then it is computed."""

REST_S = 0.002
"""Nothing can be computed before something has come. So long nobody looks for new requests."""


@dataclass(slots=True)
class _Next:
    """How one sequence goes on."""

    plugin: int = 0
    event: threading.Event | None = None
    until: float = 0.0
    since: float | None = None
    """When it began to wait, with nothing restored since."""

    def is_due(self, now: float) -> bool:
        return self.event is None or self.event.is_set() or now >= self.until


class Restoring:
    """Who is not computed yet because more of it is being restored. All parts of a step take ``stall_ms``."""

    def __init__(self, plugins: PluginBridge, stall_ms: float, clock: Callable[[], float]) -> None:
        self._plugins = plugins
        self._seconds = stall_ms / 1000
        self._clock = clock
        self._next: dict[Sequence, _Next] = {}

    def begin(self, sequence: Sequence) -> None:
        """``sequence`` has just been given a slot."""
        self._next[sequence] = _Next()

    def step(self) -> None:
        """Restore a part of each that does not wait, except of those that have lost their slot."""
        if not self._next:
            return
        now = self._clock()
        left = {sequence: state for sequence, state in self._next.items() if sequence.slot is not None}
        due = {sequence for sequence, state in left.items() if state.is_due(now)}
        self._next = {}
        for sequence, state in left.items():
            if sequence not in due:
                self._next[sequence] = state
                continue
            answer = self._plugins.on_prefill(sequence, self._seconds / len(due), state.plugin)
            following = self._following(state, answer)
            if following is not None:
                self._next[sequence] = following

    def _following(self, before: _Next, answer: Continuation | None) -> _Next | None:
        if answer is None or answer.waiting is None:
            return None if answer is None else _Next(answer.plugin)
        event, seconds = answer.waiting
        now = self._clock()
        since = now if before.since is None or answer.progress else before.since
        until = min(now + seconds, since + MOST_WAITED_S)
        return _Next(answer.plugin, event, until, since) if until > now else None

    def rest(self) -> None:
        """Nobody is computed: wait a moment for what all wait for."""
        now = self._clock()
        states = list(self._next.values())
        if states and not any(state.is_due(now) for state in states):
            first = min(states, key=lambda state: state.until)
            assert first.event is not None
            first.event.wait(min(REST_S, first.until - now))

    def __contains__(self, sequence: Sequence) -> bool:
        return sequence in self._next

    def __bool__(self) -> bool:
        return bool(self._next)
