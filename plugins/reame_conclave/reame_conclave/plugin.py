"""The hooks: several answers to one question, and the one that most of them agree on.

What they need is imported when an engine starts, so that ``reame --help`` answers at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_conclave.service import Service
    from reame_core.plugins.api import (
        ApiRequest,
        Draft,
        FieldService,
        Group,
        Metric,
        PluginContext,
        RunOption,
        SequenceView,
    )

NAME = "conclave"
"""Of the plugin, and so of its part of ``Request.extra``."""


class ConclavePlugin:
    """The plugin. One engine at a time."""

    def __init__(self) -> None:
        self._service: Service | None = None

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Read the options. Raises ConfigError."""
        from reame_conclave.service import Service

        self._service = Service(context.options)

    @hookimpl
    def serve_fields(self, request: ApiRequest) -> FieldService | None:
        """The field ``reame.conclave``."""
        return self._service.serve(request) if self._service is not None else None

    @hookimpl
    def select_winner(self, group: Group) -> int | None:
        """The winner of a vote that is over."""
        return self._service.judge(group) if self._service is not None else None

    @hookimpl
    def propose_draft(self, sequence: SequenceView, limit: int) -> Draft | None:
        """What another candidate of the same vote has said."""
        return self._service.propose(sequence, limit) if self._service is not None else None

    @hookimpl
    def metrics(self) -> Sequence[Metric] | None:
        """Votes and tokens."""
        return self._service.votes.metrics() if self._service is not None else None

    @hookimpl
    def run_options(self) -> Sequence[RunOption]:
        """``--best-of``, ``--judge`` and ``--min-consensus``."""
        from reame_conclave.command_line import OPTIONS

        return OPTIONS


plugin = ConclavePlugin()
