"""What is wrong with plugins, and what is worth knowing about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from reame_core.plugins.names import listing
from reame_core.plugins.selection import DISABLED
from reame_core.server.wire.plugins import HookCondition, PluginCondition, PluginConditions

BUILT_IN = "built in"
PACE_US = {"propose_draft": 1000.0, "metrics": 1000.0}
"""What docs/hooks.md asks hooks to stay below, on average."""
_ENOUGH_CALLS = 20
_ENOUGH_DRAFTED = 1000
_HARDLY_EVER = 0.05


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about one plugin, or (empty) about how several get along. A ``problem`` wants mending, a
    ``remark`` does not."""

    level: Literal["problem", "remark"]
    plugin: str
    text: str


def findings(conditions: PluginConditions, *, babble: bool = False) -> list[Finding]:
    """All there is to say, problems first. Where the model only babbles, wrong guesses are nobody's
    fault."""
    found = [finding for plugin in conditions.plugins for finding in _about(plugin)]
    if not babble:
        found += [finding for plugin in conditions.plugins for finding in _guesses(plugin)]
    found += _first_answers(conditions)
    return sorted(found, key=lambda finding: finding.level)


def _about(plugin: PluginCondition) -> Iterator[Finding]:
    if plugin.state == "failed":
        yield Finding("problem", plugin.name, f"is not used: {plugin.why}")
    elif plugin.why == DISABLED:
        yield Finding("remark", plugin.name, f"is not used: {plugin.why}")
    for hook in plugin.hooks:
        if hook.off:
            yield Finding("problem", plugin.name, f"hook {hook.hook!r} is switched off: {hook.off}")
        elif hook.errors:
            text = f"hook {hook.hook!r} failed in {hook.errors} of {hook.calls} calls; the log says how"
            yield Finding("problem", plugin.name, text)
        yield from _pace(plugin, hook)
    for line in plugin.deprecated:
        yield Finding("remark", plugin.name, line)
    if plugin.distribution and not plugin.requirement:
        text = f"{plugin.distribution} does not say which versions of Reame it is made for"
        yield Finding("remark", plugin.name, text)


def _guesses(plugin: PluginCondition) -> Iterator[Finding]:
    given = plugin.help
    if given.drafted_tokens >= _ENOUGH_DRAFTED and given.accepted_tokens < _HARDLY_EVER * given.drafted_tokens:
        text = f"its drafts are hardly ever right: {given.accepted_tokens} of {given.drafted_tokens} tokens"
        yield Finding("remark", plugin.name, text)


def _pace(plugin: PluginCondition, hook: HookCondition) -> Iterator[Finding]:
    limit = PACE_US.get(hook.hook)
    if limit is not None and hook.calls >= _ENOUGH_CALLS and hook.mean_us > limit:
        text = f"hook {hook.hook!r} takes {hook.mean_us / 1000:.1f} ms on average: it should stay below 1 ms"
        yield Finding("remark", plugin.name, text)


def _first_answers(conditions: PluginConditions) -> Iterator[Finding]:
    """Hooks where one answer ends the search and several plugins may give it."""
    claims: dict[str, list[tuple[int, str]]] = {}
    for plugin in conditions.plugins:
        for hook in plugin.hooks:
            if hook.first_counts and not hook.off and plugin.source != BUILT_IN:
                claims.setdefault(hook.hook, []).append((hook.turn, plugin.name))
    for hook_name, claim in claims.items():
        if len(claim) > 1:
            order = listing(name for _, name in sorted(claim))
            text = f"hook {hook_name!r}: the first answer counts, and these are asked in this order: {order}"
            yield Finding("remark", "", text)
