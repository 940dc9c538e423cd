"""Sequences of which plugins are putting a prefix into memory: a long one part by part, so that the others'
next tokens come in between."""

from __future__ import annotations

from reame_core.engine.plugin_bridge import PluginBridge
from reame_core.engine.sequence import Sequence


class Restoring:
    """Who is not computed yet because more of it is being restored. All parts of a step take ``stall_ms``."""

    def __init__(self, plugins: PluginBridge, stall_ms: float) -> None:
        self._plugins = plugins
        self._seconds = stall_ms / 1000
        self._next: dict[Sequence, int] = {}
        """The number of the plugin that goes on with each."""

    def begin(self, sequence: Sequence) -> None:
        """``sequence`` has just been given a slot."""
        self._next[sequence] = 0

    def step(self) -> None:
        """Restore a part of each, except of those that have lost their slot."""
        left = {sequence: number for sequence, number in self._next.items() if sequence.slot is not None}
        self._next = {}
        for sequence, number in left.items():
            following = self._plugins.on_prefill(sequence, self._seconds / len(left), number)
            if following is not None:
                self._next[sequence] = following

    def __contains__(self, sequence: Sequence) -> bool:
        return sequence in self._next

    def __bool__(self) -> bool:
        return bool(self._next)
