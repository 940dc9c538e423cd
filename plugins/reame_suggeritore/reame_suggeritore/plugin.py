"""The hooks: proposals from the form of a text, and structured output.

What they need is imported when an engine starts, so that ``reame --help`` answers at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reame_core.plugins.api import (
        ApiRequest,
        Draft,
        FieldService,
        KVAccess,
        PluginContext,
        RunOption,
        SequenceView,
        Stage,
    )
    from reame_suggeritore.proposals.prompter import Prompter
    from reame_suggeritore.structured.service import Structure

NAME = "suggeritore"
"""Of the plugin, and so of its part of ``Request.extra``."""


class Suggeritore:
    """The plugin. One engine at a time."""

    def __init__(self) -> None:
        self.prompter: Prompter | None = None
        """What runs for the engine that is started."""
        self.structure: Structure | None = None

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Read the options. Raises ConfigError."""
        from reame_core.config.plugin_options import read_options
        from reame_suggeritore.options import SuggeritoreOptions
        from reame_suggeritore.proposals.prompter import Prompter
        from reame_suggeritore.structured.service import Structure

        options = read_options(NAME, context.options, SuggeritoreOptions)
        self.prompter = Prompter(context, options) if options.proposals else None
        self.structure = Structure(context)

    @hookimpl
    def serve_fields(self, request: ApiRequest) -> FieldService | None:
        """Structured output and tools."""
        return self.structure.serve(request) if self.structure is not None else None

    @hookimpl
    def propose_draft(self, sequence: SequenceView, limit: int) -> Draft | None:
        """What a constraint forces, else what the form of the text so far asks for."""
        if self.structure is not None and (draft := self.structure.propose(sequence, limit)) is not None:
            return draft
        return self.prompter.propose(sequence, limit) if self.prompter is not None else None

    @hookimpl
    def persist(self, sequence: SequenceView, kv: KVAccess, stage: Stage) -> None:
        """Forget the sequence at its end."""
        if self.prompter is not None and stage.value == "end":
            self.prompter.forget(sequence.id)

    @hookimpl
    def run_options(self) -> Sequence[RunOption]:
        """``--json-schema``, ``--regex`` and ``--grammar``."""
        from reame_suggeritore.structured.command_line import OPTIONS

        return OPTIONS
