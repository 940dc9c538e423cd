"""Records: lines of a key and a value, in the order of the records before."""

from __future__ import annotations

import re

from reame_suggeritore.proposals.outline import Outline, PatternForm, Reading
from reame_suggeritore.proposals.page import Line
from reame_suggeritore.proposals.pattern import Content, Step, go_on
from reame_suggeritore.proposals.proposal import ENDS

_LINE = re.compile(
    r"(?P<lead>[ \t]*(?:[-*•] )?(?:\*\*|__)?)"
    r"(?P<key>[^\W\d_][\w /()'’.-]{0,39}?)"
    r"(?P<joint>(?:\*\*|__)?[ \t]*[:=](?:\*\*|__)?)"
    r"(?:[ \t]+|$|(?<==))"
)
_PLACEHOLDER = re.compile(r"[<\[({].*[>\])}.]*$|\.{2,}$|_{2,}$|…$|$")
_VALUE, _SENTENCE = 0.3, 0.5
"""How likely the first tokens of an answer are all of a value, and a full stop is its end."""


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
        if filled or not siblings:
            return go_on(now, filled)
        if not now.text.strip():
            return None
        chance = _SENTENCE if now.text.endswith(".") else _VALUE / max(1, now.text.count(" ") - 1)
        return Step("", chance, True, ENDS)
