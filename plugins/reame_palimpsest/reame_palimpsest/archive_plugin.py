"""The plugin ``palimpsest``: what was generated once is proposed again, also after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from reame_core.plugins.api import (
        ApiRequest,
        Draft,
        FieldService,
        KVAccess,
        Metric,
        PluginContext,
        SequenceView,
        Stage,
    )
    from reame_palimpsest.service import Service


class ArchivePlugin:
    """Everything but the hooks is imported at startup, so that commands which use no plugin stay quick."""

    def __init__(self) -> None:
        self._service: Service | None = None

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Open the archive. Raises ConfigError for a wrong option."""
        from reame_palimpsest.service import Service

        self._service = Service(context)

    @hookimpl
    def shutdown(self) -> None:
        """Write what is waiting."""
        if self._service is not None:
            self._service.close()
            self._service = None

    @hookimpl(tryfirst=True)
    def on_prefill(self, sequence: SequenceView, kv: KVAccess) -> None:
        """Restores nothing: while the prompt is computed the tenant's archive is opened."""
        if self._service is not None:
            self._service.pursuits.expect(sequence)

    @hookimpl
    def propose_draft(self, sequence: SequenceView, limit: int) -> Draft | None:
        """What was said before after the same tokens."""
        return self._service.pursuits.propose(sequence, limit) if self._service else None

    @hookimpl
    def persist(self, sequence: SequenceView, kv: KVAccess, stage: Stage) -> None:
        """Archive what was generated."""
        if self._service is not None and stage.value == "end":
            self._service.pursuits.end(sequence, store=self._service.stores)

    @hookimpl
    def serve_fields(self, request: ApiRequest) -> FieldService | None:
        """The field ``reame.palimpsest``: ``{"archive": false}`` keeps an answer out of the archive."""
        from reame_core.plugins.api import FieldService
        from reame_palimpsest.fields import FIELD, read_wishes

        if FIELD not in request.fields:
            return None
        return FieldService(fields=frozenset({FIELD}), extra=read_wishes(request.fields[FIELD]))

    @hookimpl
    def register_commands(self, cli: click.Group) -> None:
        """Add ``reame palimpsest``."""
        from reame_palimpsest.commands import palimpsest

        cli.add_command(palimpsest)

    @hookimpl
    def metrics(self) -> Sequence[Metric] | None:
        """Sizes of the open archives and what became of answers."""
        return self._service.metrics() if self._service else None


plugin = ArchivePlugin()
