"""The plugin ``prompt-lookup``: what a sequence has said, or was asked, it says again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reame_core.plugins.api import Draft, KVAccess, PluginContext, SequenceView, Stage
    from reame_palimpsest.lookup import PromptLookup


class LookupPlugin:
    """Everything but the hooks is imported at startup, so that commands which use no plugin stay quick."""

    def __init__(self) -> None:
        self._lookup: PromptLookup | None = None

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Read the options. Raises ConfigError."""
        from reame_core.config.plugin_options import read_options
        from reame_palimpsest.lookup import PromptLookup
        from reame_palimpsest.options import LookupOptions

        options = read_options("prompt-lookup", context.options, LookupOptions)
        self._lookup = PromptLookup(options.min_match)

    @hookimpl
    def propose_draft(self, sequence: SequenceView, limit: int) -> Draft | None:
        """What followed the longest earlier occurrence of the newest tokens."""
        if self._lookup is None:
            return None
        temperature = sequence.request.sampling.temperature
        return self._lookup.propose(sequence.id, sequence.tokens, limit, temperature)

    @hookimpl
    def persist(self, sequence: SequenceView, kv: KVAccess, stage: Stage) -> None:
        """Forget the sequence at its end."""
        if self._lookup is not None and stage.value == "end":
            self._lookup.forget(sequence.id)


plugin = LookupPlugin()
