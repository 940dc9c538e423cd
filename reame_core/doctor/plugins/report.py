"""The conditions of plugins in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from reame_core.doctor.plugins.findings import BUILT_IN
from reame_core.plugins.forms import hook_arguments
from reame_core.server.wire.plugins import HelpGiven, HookCondition, PluginCondition, PluginConditions

_WAYS = ("restored", "drafted", "recalled", "served")


def plugin_rows(conditions: PluginConditions) -> Iterator[tuple[str, str, str, str, str]]:
    """Name, version, what it is made for, state and whom it helped."""
    for plugin in conditions.plugins:
        version = " ".join(part for part in (plugin.distribution, plugin.version) if part) or plugin.source
        yield plugin.name, version, _made_for(plugin), plugin.state, helped(plugin.help)


def _made_for(plugin: PluginCondition) -> str:
    if plugin.source == BUILT_IN:
        return ""
    stated = [f"reame{plugin.requirement}"] if plugin.requirement else []
    stated += [f"API {plugin.api}"] if plugin.api else []
    return ", ".join(stated) or "?"


def helped(given: HelpGiven) -> str:
    """``3 restored (120 tokens), 9 drafted (80 of 120 tokens); last: req_1``."""
    tokens = {
        "restored": f" ({given.restored_tokens:,} tokens)",
        "drafted": f" ({given.accepted_tokens:,} of {given.drafted_tokens:,} tokens)",
    }
    parts = [f"{given.requests[way]:,} {way}{tokens.get(way, '')}" for way in _WAYS if given.requests.get(way)]
    if not parts and given.drafted_tokens:
        parts = [f"none by {given.drafted_tokens:,} drafted tokens"]
    last = f"; last: {given.latest[-1]}" if given.latest else ""
    return ", ".join(parts) + last


def hook_rows(conditions: PluginConditions) -> Iterator[tuple[str, ...]]:
    """By hook, in the order in which plugins are asked."""
    hooks = [(hook, plugin.name) for plugin in conditions.plugins for hook in plugin.hooks]
    order = {hook: place for place, hook in enumerate(hook_arguments())}
    # A server of another version may have hooks that this one has not.
    for hook, plugin in sorted(hooks, key=lambda each: (order.get(each[0].hook, len(order)), each[0].turn)):
        yield hook.hook, plugin, f"{hook.calls:,}", *_times(hook), _failures(hook)


def _times(hook: HookCondition) -> tuple[str, str, str]:
    if not hook.calls:
        return "", "", ""
    return duration(hook.mean_us), duration(hook.p99_us), duration(hook.longest_us)


def duration(microseconds: float) -> str:
    """With a unit that leaves one to three digits before the point."""
    if microseconds < 1000:
        return f"{microseconds:.1f} µs"
    if microseconds < 1_000_000:
        return f"{microseconds / 1000:.1f} ms"
    return f"{microseconds / 1_000_000:.1f} s"


def _failures(hook: HookCondition) -> str:
    if hook.off:
        return f"{hook.errors:,}, off"
    return f"{hook.errors:,}" if hook.errors else ""
