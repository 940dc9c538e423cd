"""Engines whose answers another fake model drafts."""

from __future__ import annotations

from typing import Any

import numpy as np
from reame_draftmodel.plugin import DraftModelPlugin

from reame_core.engine.batch_cost import BatchCost
from reame_core.engine.calibration import measure_batches
from reame_core.engine.hooks import EngineHooks
from reame_core.plugins.api import PluginContext, SecondModel
from reame_core.testing import FakeBackend, FakeClock
from tests.engine.support import hook


class Mumbling(FakeBackend):
    """A fake model that says something else every ``every``-th time: the best token is another there."""

    def __init__(self, every: int, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._every = every

    def _line(self, cell: int, attended: Any) -> Any:
        line = super()._line(cell, attended)
        if int(self._positions[cell]) % self._every == 0:
            line = np.roll(line, 1)
        return line


def second_model(backend: FakeBackend, tokenizer: str = "fake", clock: FakeClock | None = None) -> SecondModel:
    """``backend`` as the core hands it to a plugin."""
    cost = BatchCost()
    measure_batches(backend, cost, *([clock] if clock else []))
    backend.decodes = 0
    return SecondModel(backend, tokenizer, cost)


class Drafting:
    """The plugin, started with ``draft`` for a target like ``FakeBackend()``, and its hooks."""

    def __init__(
        self,
        draft: FakeBackend | None = None,
        *,
        target: FakeBackend | None = None,
        tokenizer: str = "fake",
        clock: FakeClock | None = None,
        **options: object,
    ) -> None:
        self.backend = draft or FakeBackend(cells=1024, max_sequences=34)
        self.opened: dict[str, object] = {}
        self.plugin = DraftModelPlugin()
        target = target or FakeBackend()

        def opener(model: str, **wishes: object) -> SecondModel:
            self.opened = {"model": model, **wishes}
            return second_model(self.backend, tokenizer, clock)

        table = {"model": "small", "p_min": 0.0, **options}
        self.plugin.startup(
            PluginContext(target.info, table, {}, "fake", target.piece, target.tokenize, opener)  # type: ignore[arg-type]
        )
        if clock is not None and self.plugin._service is not None:
            self.plugin._service._clock = clock
        self.hooks = EngineHooks(
            price_drafts=hook(self.plugin.price_drafts, name="draftmodel"),
            compute_drafts=hook(self.plugin.compute_drafts, name="draftmodel"),
            persist=hook(lambda sequence, kv, stage: self.plugin.persist(sequence, stage)),
        )

    @property
    def lanes(self) -> Any:
        assert self.plugin._service is not None
        return self.plugin._service._lanes
