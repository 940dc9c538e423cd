"""Bulleted lists, and those with boxes to check."""

from __future__ import annotations

import re

from reame_suggeritore.proposals.outline import Outline, PatternForm, Reading
from reame_suggeritore.proposals.sequence import Kind

_ITEM = re.compile(r"(?P<marker>[ \t]*(?:> ?)*[-*+•◦▪‣–][ \t]+)(?P<box>\[[ xX]\][ \t]+)?")
_GOES_ON = 0.75


class Bullets(PatternForm):
    """``kind`` is (name, the bullet with its indentation, whether there is a box)."""

    name = "bullets"

    def read(self, text: str) -> Reading | None:
        """An item whose bullet is complete."""
        match = _ITEM.match(text)
        if match is None:
            return None
        return Reading((self.name, match["marker"], match["box"] is not None), match.end())

    def successor(self, outline: Outline) -> tuple[Kind, float] | None:
        """A list goes on."""
        kind = outline.last_form
        return (kind, _GOES_ON) if kind[0] == self.name else None
