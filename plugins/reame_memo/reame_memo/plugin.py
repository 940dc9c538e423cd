"""The hooks. What they need is imported when an engine starts, so that ``reame --help`` answers at once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from reame_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

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
    from reame_memo.service import Service

log = logging.getLogger("reame.plugins.memo")


class Memo:
    """The plugin. One engine at a time."""

    def __init__(self) -> None:
        self.service: Service | None = None
        """What runs for the engine that is started; None without one, or where nothing is to be kept."""

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Read the options. Raises ConfigError. The folder is made when there is something to keep."""
        from reame_core.config.plugin_options import read_options
        from reame_memo.options import Options
        from reame_memo.service import Service

        options = read_options("memo", context.options, Options)
        if not options.max_size_mb:
            log.info("no answers are kept: plugins.memo.max_size_mb is 0")
            return
        self.service = Service(options, context.namespace, context.model.vocabulary_size)

    @hookimpl
    def shutdown(self) -> None:
        """Close the file."""
        service, self.service = self.service, None
        if service is not None:
            service.close()

    @hookimpl
    def serve_fields(self, request: ApiRequest) -> FieldService | None:
        """``reame.memo``: false for an answer that is computed and not kept. Raises InvalidRequest."""
        from reame_core.plugins.api import FieldService
        from reame_memo.wish import FIELD, read_wish

        if FIELD not in request.fields:
            return None
        return FieldService(fields=frozenset({FIELD}), extra=read_wish(request.fields[FIELD]))

    @hookimpl(tryfirst=True)
    def recall_answer(self, question: Question) -> KnownAnswer | AskAgain | None:
        """What was answered to the same before. Asked before plugins that look further away."""
        service = self.service
        return service.recall(question) if service is not None else None

    @hookimpl
    def keep_answer(self, question: Question, answer: Sequence[AnsweredChoice] | None) -> None:
        """For the next time."""
        service = self.service
        if service is not None:
            service.keep(question, answer)

    @hookimpl
    def register_commands(self, cli: click.Group) -> None:
        """``reame memo``."""
        from reame_memo.commands import memo

        cli.add_command(memo)

    @hookimpl
    def metrics(self) -> Sequence[Metric] | None:
        """What was given again, and what is kept."""
        return self.service.metrics() if self.service is not None else None


plugin = Memo()
