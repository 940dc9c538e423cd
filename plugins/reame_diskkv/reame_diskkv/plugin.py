"""The hooks. What they need is imported when an engine starts, so that ``reame --help`` answers at once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from reame_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from reame_core.plugins.api import (
        ApiRequest,
        FieldService,
        KVAccess,
        Metric,
        PluginContext,
        SequenceView,
        ServerAccess,
        Stage,
    )
    from reame_diskkv.service import Service

log = logging.getLogger("reame.plugins.diskkv")

_EXPLAIN = "reame.explain"


class DiskKV:
    """The plugin. One engine at a time."""

    def __init__(self) -> None:
        self.service: Service | None = None
        """What runs for the engine that is started; None without one, or where the cache is off."""

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Open the folder and start the writer, or say why there is no cache."""
        from reame_diskkv.options import read_options
        from reame_diskkv.service import Service

        options = read_options(context.options)
        if options.max_size_mb == 0:
            log.info("the disk cache is off: plugins.diskkv.max_size_mb is 0")
        elif not context.model.partial_removal:
            log.warning(
                "the disk cache is off: the state of %s cannot be divided into blocks (it is a recurrent or "
                "hybrid model)",
                context.model.name,
            )
        else:
            self.service = Service.start(options, context)

    @hookimpl
    def shutdown(self) -> None:
        """Write what waits."""
        service, self.service = self.service, None
        if service is not None:
            service.close()

    @hookimpl
    def on_prefill(self, sequence: SequenceView, kv: KVAccess) -> int | None:
        """Restore what is stored of the prompt."""
        return self.service.on_prefill(sequence, kv) if self.service is not None else None

    @hookimpl
    def persist(self, sequence: SequenceView, kv: KVAccess, stage: Stage) -> None:
        """Hand over what is not stored yet."""
        if self.service is not None:
            self.service.persist(sequence, kv, stage)

    @hookimpl
    def metrics(self) -> Sequence[Metric] | None:
        """What has been counted."""
        return self.service.metrics() if self.service is not None else None

    @hookimpl
    def register_commands(self, cli: click.Group) -> None:
        """``reame cache`` and ``reame warm``."""
        from reame_diskkv.commands import cache, warm

        cli.add_command(cache)
        cli.add_command(warm)

    @hookimpl
    def serve_fields(self, request: ApiRequest) -> FieldService | None:
        """``reame.explain``: why the prompt was, or was not, computed."""
        from reame_core.errors import InvalidRequest
        from reame_core.plugins.api import FieldService
        from reame_diskkv.explaining import Inquiry

        if _EXPLAIN not in request.fields or self.service is None:
            return None
        wanted = request.fields[_EXPLAIN]
        if not isinstance(wanted, bool):
            raise InvalidRequest(f"{_EXPLAIN} must be true or false", param=_EXPLAIN)
        if not wanted:
            return FieldService(fields=frozenset({_EXPLAIN}))
        inquiry = Inquiry()
        return FieldService(fields=frozenset({_EXPLAIN}), extra=inquiry, report=lambda: inquiry.report)

    @hookimpl
    def register_routes(self, server: ServerAccess) -> Sequence[object] | None:
        """``/v1/warm`` and ``/v1/sessions``."""
        if self.service is None:
            return None
        from reame_diskkv.routes import make_routes

        return make_routes(server, self.service)
