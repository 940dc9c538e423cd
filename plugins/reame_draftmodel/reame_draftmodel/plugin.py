"""The plugin ``draftmodel``: a small model guesses what the large one will say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_core.plugins.api import (
        Draft,
        DraftPrice,
        DraftWish,
        Metric,
        PluginContext,
        SequenceView,
        Stage,
    )
    from reame_draftmodel.service import Service


class DraftModelPlugin:
    """Everything but the hooks is imported at startup, so that commands which use no plugin stay quick."""

    def __init__(self) -> None:
        self._service: Service | None = None

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Load the draft model, if one is set. Raises ConfigError for a wrong option or an unfit model."""
        from reame_draftmodel.service import start

        self._service = start(context)

    @hookimpl
    def shutdown(self) -> None:
        """The core closes the model."""
        self._service = None

    @hookimpl
    def price_drafts(self, wishes: Sequence[DraftWish]) -> DraftPrice | None:
        """By what batches of the draft model have taken so far."""
        return self._service.price(wishes) if self._service else None

    @hookimpl
    def compute_drafts(self, wishes: Sequence[DraftWish]) -> list[Draft | None] | None:
        """One batch of the draft model for each token of the longest draft, for all sequences together."""
        return self._service.draft(wishes) if self._service else None

    @hookimpl
    def persist(self, sequence: SequenceView, stage: Stage) -> None:
        """A sequence that has ended gives its place free."""
        if self._service is not None and stage.value == "end":
            self._service.end(sequence)

    @hookimpl
    def metrics(self) -> Sequence[Metric] | None:
        """What the draft model has computed."""
        return self._service.metrics() if self._service else None


plugin = DraftModelPlugin()
