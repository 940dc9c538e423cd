"""The body of GET /v1/reame/plugins; ``reame plugins doctor`` reads it."""

from __future__ import annotations

from msgspec import Struct


class HookCondition(Struct):
    """One hook of a plugin. Times are microseconds of the thread that the hook runs on."""

    hook: str
    turn: int
    """Its place in the order in which plugins are asked, from 0."""
    first_counts: bool
    """Whether the first answer ends the search."""
    calls: int
    seconds: float
    mean_us: float
    p99_us: float
    longest_us: float
    errors: int
    off: str
    """Why it is not called any more; empty while it is."""


class HelpGiven(Struct):
    """What a plugin has done for requests."""

    requests: dict[str, int]
    """By how: ``restored``, ``drafted``, ``recalled``, ``served``."""
    restored_tokens: int
    drafted_tokens: int
    accepted_tokens: int
    latest: list[str]
    """Ids of the latest requests that it helped."""


class PluginCondition(Struct):
    """One plugin: what it is, how it does, and what it costs."""

    name: str
    distribution: str | None
    version: str | None
    source: str
    state: str
    why: str
    requirement: str
    """Which versions of Reame its distribution wants; empty where it does not say."""
    api: str
    """The version of the plugin API that it says it was written for; empty where it does not say."""
    deprecated: list[str]
    hooks: list[HookCondition]
    help: HelpGiven


class PluginConditions(Struct):
    """All plugins of a server, in the order in which they are asked."""

    reame: str
    api: str
    """The version of the plugin API."""
    plugins: list[PluginCondition]
