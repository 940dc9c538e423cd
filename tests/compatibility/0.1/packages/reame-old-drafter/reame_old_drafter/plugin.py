"""Proposes what followed the last time that the newest tokens came in a row."""

from __future__ import annotations

from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Draft, SequenceView

WINDOW = 3
"""Tokens that have to agree."""


class OldDrafter:
    """A wrong draft costs a little time, never an answer: Reame verifies every token."""

    @hookimpl
    def propose_draft(self, sequence: SequenceView, limit: int) -> Draft | None:
        """At most ``limit`` tokens that may follow. On the engine thread, at each step: be quick."""
        tokens = sequence.tokens.tolist()
        newest = tokens[-WINDOW:]
        for end in range(len(tokens) - 1, WINDOW - 1, -1):
            if tokens[end - WINDOW : end] == newest:
                return Draft(tokens[end : end + limit], match_length=WINDOW)
        return None
