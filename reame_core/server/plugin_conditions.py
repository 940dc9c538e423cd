"""How the plugins of a process do: what the manager knows of them, and whom they helped."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from reame_core.hookspecs import API_VERSION
from reame_core.plugins.compatibility import reame_version
from reame_core.server.plugin_help import Helped, PluginHelp
from reame_core.server.wire.plugins import HelpGiven, HookCondition, PluginCondition, PluginConditions

if TYPE_CHECKING:
    from reame_core.plugins.manager import PluginManager
    from reame_core.plugins.report import HookCost, PluginReport


def conditions_of(plugins: PluginManager, given: PluginHelp) -> PluginConditions:
    """As they are now."""
    costs: dict[str, list[HookCost]] = {}
    for cost in plugins.hook_costs():
        costs.setdefault(cost.plugin, []).append(cost)
    return PluginConditions(
        reame=reame_version(),
        api=API_VERSION,
        plugins=[_condition(each, costs.get(each.name, []), given) for each in plugins.report()],
    )


def _condition(report: PluginReport, costs: list[HookCost], given: PluginHelp) -> PluginCondition:
    # Of two plugins of one name the second one is not used: costs and help are the first one's.
    used = report.state in ("active", "switched off")
    helped = given.by_plugin.get(report.name, Helped()) if used else Helped()
    return PluginCondition(
        name=report.name,
        distribution=report.distribution,
        version=report.version,
        source=report.source,
        state=report.state,
        why=report.why,
        requirement=report.requirement,
        api=report.api,
        deprecated=list(report.deprecated),
        hooks=[_hook(cost) for cost in costs] if used else [],
        help=HelpGiven(
            requests=dict(helped.requests),
            restored_tokens=helped.restored_tokens,
            drafted_tokens=helped.drafted_tokens,
            accepted_tokens=helped.accepted_tokens,
            latest=list(helped.latest),
        ),
    )


def _hook(cost: HookCost) -> HookCondition:
    figures = asdict(cost)
    del figures["plugin"]
    for name in ("seconds", "mean_us", "p99_us", "longest_us"):
        figures[name] = round(figures[name], 6 if name == "seconds" else 1)
    return HookCondition(**figures)
