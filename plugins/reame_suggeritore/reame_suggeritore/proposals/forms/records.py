"""Records: lines of a key and a value, in the order of the records before."""

from __future__ import annotations

import re

from reame_suggeritore.proposals.outline import Outline, PatternForm, Reading
from reame_suggeritore.proposals.page import Line
from reame_suggeritore.proposals.pattern import Content, Step, go_on

_LINE = re.compile(
    r"(?P<lead>[ \t]*(?:[-*•] )?(?:\*\*|__)?)(?P<key>[^\W\d_][\w /()'’.-]{0,39}?)(?P<joint>(?:\*\*|__)?[ \t]*[:=](?:\*\*|__)?)"
    r"(?P<space>[ \t]+|$|(?<==))"
)


_PLACEHOLDER = re.compile(r"[<\[({].*[>\])}.]*$|\.{2,}$|_{2,}$|…$|$")
_PERHAPS = 0.3


class Records(PatternForm):
    """``kind`` is (name, what stands before the key, the key, what joins it to its value)."""

    name = "records"

    def read(self, text: str) -> Reading | None:
        """A line whose key is complete."""
        match = _LINE.match(text)
        if match is None:
            return None
        return Reading((self.name, match["lead"], match["key"], match["joint"]), match.end())

    def go_on(self, line: Line, reading: Reading, outline: Outline) -> Step | None:
        """As the others; where those only show what is to be filled in, a value may end anywhere."""
        siblings = outline.siblings(reading.kind)
        filled = [each for each in siblings if not _PLACEHOLDER.match(each.text)]
        now = Content(line, reading.head)
        if siblings and not filled:
            return Step("", _PERHAPS, True, True) if now.fields and line.text[-1:].isalnum() else None
        return go_on(now, filled)
