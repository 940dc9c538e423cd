from __future__ import annotations

from typing import Any

import pytest

from reame_core.engine.backend import ModelInfo
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import PluginContext
from reame_core.plugins.offers import Offers

MODEL = ModelInfo("m", vocabulary_size=8, trained_context=8, kv_cells=8, max_sequences=1, max_rows=8)


class Lamp:
    """Something that can be offered."""


class Offering:
    def __init__(self) -> None:
        self.lamp = Lamp()

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        context.offers.make(self.lamp)
        context.offers.make("of another type")


class Taking:
    def __init__(self) -> None:
        self.taken: list[Any] = []

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        context.offers.take(Lamp, self.taken.append)


@pytest.mark.parametrize("order", [("offering", "taking"), ("taking", "offering")])
def test_hook_startup_plugins_find_each_other_in_any_order(manager_of: Any, order: tuple[str, str]) -> None:
    offering, taking = Offering(), Taking()
    manager = manager_of(offering=offering, taking=taking, order=order)
    manager.startup(lambda name: PluginContext(MODEL, {}))
    assert taking.taken == [offering.lamp]


def test_hook_startup_engines_offer_each_other_nothing(manager_of: Any) -> None:
    taking = Taking()
    manager_of(offering=Offering()).startup(lambda name: PluginContext(MODEL, {}))
    manager_of(taking=taking).startup(lambda name: PluginContext(MODEL, {}))
    assert taking.taken == []


def test_who_cannot_take_something_is_told_and_nobody_else_minds(caplog: pytest.LogCaptureFixture) -> None:
    offers, taken = Offers(), []

    def refuse(lamp: Lamp) -> None:
        raise ValueError("no socket")

    offers.take(Lamp, refuse)
    offers.take(Lamp, taken.append)
    offers.make(Lamp())
    assert len(taken) == 1
    assert [record.message for record in caplog.records] == [
        "a plugin could not take the Lamp that another one offers"
    ]
