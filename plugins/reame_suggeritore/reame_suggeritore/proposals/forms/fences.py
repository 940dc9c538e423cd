"""The lines that open and close a block of code."""

from __future__ import annotations

import re

from reame_suggeritore.proposals.outline import Opening, Outline, PatternForm, Reading
from reame_suggeritore.proposals.page import Line
from reame_suggeritore.proposals.pattern import Step
from reame_suggeritore.proposals.proposal import KNOWN
from reame_suggeritore.proposals.sequence import Kind

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[\w+#.-]*[ \t\r]*$")


_SURE = 0.95


class Fences(PatternForm):
    """``kind`` is (name, the line)."""

    name = "fences"

    def read(self, text: str) -> Reading | None:
        """A whole fence."""
        return Reading((self.name, text.rstrip()), len(text)) if _FENCE.match(text) else None

    def opening(self, kind: Kind, outline: Outline) -> Opening | None:
        """The line."""
        return Opening(str(kind[1]), whole=True)

    def go_on(self, line: Line, reading: Reading, outline: Outline) -> Step | None:
        """The line is complete where it closes a block."""
        return Step("", _SURE, True, KNOWN) if outline.open_fence == line.text.strip() else None
