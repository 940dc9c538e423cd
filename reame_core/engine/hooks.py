"""The hooks as the engine calls them: typed, guarded, in plugin order. ``EngineHooks()`` has no plugin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class GuardedHook:
    """The implementations of one hook, as (plugin name, callable taking the specification's arguments
    positionally). A callable never raises: a failing plugin has been logged and counted, and gives None."""

    calls: tuple[tuple[str, Callable[..., Any]], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.calls)

    def first(self, *arguments: Any) -> tuple[str, Any] | None:
        """(plugin, answer) of the first plugin whose answer is not None."""
        for name, call in self.calls:
            if (answer := call(*arguments)) is not None:
                return name, answer
        return None

    def without(self, plugin: str) -> GuardedHook:
        """Those of all others."""
        return GuardedHook(tuple(each for each in self.calls if each[0] != plugin))

    def answers(self, *arguments: Any) -> list[tuple[str, Any]]:
        """(plugin, answer) of every plugin whose answer is not None."""
        asked = [(name, call(*arguments)) for name, call in self.calls]
        return [(name, answer) for name, answer in asked if answer is not None]

    def all(self, *arguments: Any) -> None:
        """Call every plugin; answers do not matter."""
        for _, call in self.calls:
            call(*arguments)


@dataclass(frozen=True, slots=True)
class EngineHooks:
    """One field for each hook that the engine calls."""

    on_prefill: GuardedHook = field(default_factory=GuardedHook)
    propose_draft: GuardedHook = field(default_factory=GuardedHook)
    price_drafts: GuardedHook = field(default_factory=GuardedHook)
    compute_drafts: GuardedHook = field(default_factory=GuardedHook)
    verify: GuardedHook = field(default_factory=GuardedHook)
    select_winner: GuardedHook = field(default_factory=GuardedHook)
    persist: GuardedHook = field(default_factory=GuardedHook)
