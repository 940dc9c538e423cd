"""The hooks. What they need is imported when an engine starts, so that ``reame --help`` answers at once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from reame_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from reame_arca.service import Service
    from reame_core.plugins.api import (
        AnsweredChoice,
        ApiRequest,
        AskAgain,
        FieldService,
        KnownAnswer,
        Metric,
        PluginContext,
        Question,
    )

log = logging.getLogger("reame.plugins.arca")


class Arca:
    """The plugin. One engine at a time."""

    def __init__(self) -> None:
        self.service: Service | None = None
        """What runs for the engine that is started; None without one, or where no store is named."""

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Read the options and connect in the background. Raises ConfigError."""
        from reame_arca.options import read_options
        from reame_arca.service import Service

        options = read_options(context.options)
        if options.url is None:
            log.info("nothing is shared: plugins.arca.url names no store")
            return
        self.service = Service.start(options, context)

    @hookimpl
    def shutdown(self) -> None:
        """Write what waits and hang up."""
        service, self.service = self.service, None
        if service is not None:
            service.close()

    @hookimpl
    def serve_fields(self, request: ApiRequest) -> FieldService | None:
        """``reame.arca``: whether this request shares, and what. Raises InvalidRequest."""
        from reame_arca.wishes import FIELD, read_wishes
        from reame_core.plugins.api import FieldService

        if FIELD not in request.fields:
            return None
        return FieldService(fields=frozenset({FIELD}), extra=read_wishes(request.fields[FIELD]))

    @hookimpl
    def recall_answer(self, question: Question) -> KnownAnswer | AskAgain | None:
        """What any server has answered to the same, or, if so set, to something similar."""
        service = self.service
        return service.recall(question) if service is not None else None

    @hookimpl
    def keep_answer(self, question: Question, answer: Sequence[AnsweredChoice] | None) -> None:
        """Let the others have it."""
        service = self.service
        if service is not None:
            service.keep(question, answer)

    @hookimpl
    def register_models(self) -> Mapping[str, Mapping[str, object]]:
        """The embedding model for similar questions."""
        from reame_arca.similar.models import MODELS

        return MODELS

    @hookimpl
    def register_commands(self, cli: click.Group) -> None:
        """``reame arca``."""
        from reame_arca.commands import arca

        cli.add_command(arca)

    @hookimpl
    def metrics(self) -> Sequence[Metric] | None:
        """What was shared, and how the store is."""
        return self.service.metrics() if self.service is not None else None
