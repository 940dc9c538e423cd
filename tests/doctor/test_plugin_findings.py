"""What is said of plugins whose figures are known."""

from __future__ import annotations

import pytest

from reame_core.doctor.plugins.findings import findings
from reame_core.server.wire.plugins import HelpGiven, HookCondition, PluginCondition, PluginConditions


def conditions(hook: str, mean_us: float, calls: int) -> PluginConditions:
    given = HelpGiven({}, 0, 0, 0, [])
    cost = HookCondition(hook, 0, False, calls, 1e-6 * mean_us * calls, mean_us, mean_us, mean_us, 0, "")
    plugin = PluginCondition("mine", None, None, "entry point", "active", "", "", "0.1", [], [cost], given)
    return PluginConditions("0.1.0", "0.1", [plugin])


@pytest.mark.parametrize(
    ("hook", "mean_us", "calls", "said"),
    [
        (
            "propose_draft",
            2000.0,
            20,
            ["hook 'propose_draft' takes 2.0 ms on average: it should stay below 1 ms"],
        ),
        ("propose_draft", 2000.0, 19, []),
        ("propose_draft", 900.0, 20, []),
        ("persist", 2000.0, 20, []),
    ],
)
def test_hooks_that_take_long_are_named(hook: str, mean_us: float, calls: int, said: list[str]) -> None:
    assert [each.text for each in findings(conditions(hook, mean_us, calls))] == said
