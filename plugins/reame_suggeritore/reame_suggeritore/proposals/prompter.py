"""All sequences under way, and what the form of each proposes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.plugins.api import Draft, PluginContext, SequenceView

if TYPE_CHECKING:
    from reame_suggeritore.options import SuggeritoreOptions


class Prompter:
    """For the engine thread."""

    def __init__(self, context: PluginContext, options: SuggeritoreOptions) -> None:
        self._context = context
        self._options = options

    def propose(self, sequence: SequenceView, limit: int) -> Draft | None:
        """Up to ``limit`` tokens that the form of the text so far asks for."""
        return None

    def forget(self, sequence: int) -> None:
        """The sequence with this number has ended."""
