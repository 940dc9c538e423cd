"""What the command line, the server's status and the metrics tell about plugins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["active", "disabled", "failed", "switched off"]


@dataclass(frozen=True, slots=True)
class PluginReport:
    """One plugin, as it is at the moment of asking."""

    name: str
    distribution: str | None
    version: str | None
    source: str
    """``entry point``, ``file PATH`` or ``built in``."""
    hooks: tuple[str, ...]
    """The hooks it is asked at: none for a disabled or failed plugin, and not those switched off."""
    state: State
    """``switched off`` when at least one of its hooks is, after repeated failures."""
    why: str
    """One line; empty for an active plugin."""
    errors: int
    """Exceptions its hooks have raised."""
    requirement: str = ""
    """Which versions of Reame its distribution wants, such as ``<0.3,>=0.1``; empty where it does not say."""
    api: str = ""
    """The API version that it says it was written for (``reame_api``); empty where it does not say."""
    deprecated: tuple[str, ...] = ()
    """What it uses and will have to do without, one line each."""


@dataclass(frozen=True, slots=True)
class HookCost:
    """What one hook of one plugin has cost, as it is at the moment of asking."""

    hook: str
    plugin: str
    turn: int
    """Its place among the plugins that have this hook, in the order in which they are asked; from 0."""
    first_counts: bool
    """Whether the first answer ends the search."""
    calls: int
    seconds: float
    """All calls together."""
    mean_us: float
    p99_us: float
    """99 % of the calls took no longer, within an eighth."""
    longest_us: float
    errors: int
    off: str
    """Why it is not called any more; empty while it is."""
