"""Records: lines of a key and a value, in the order of the records before."""

from __future__ import annotations

import re

from reame_suggeritore.proposals.outline import PatternForm, Reading

_LINE = re.compile(
    r"(?P<lead>[ \t]*(?:[-*•] )?(?:\*\*|__)?)(?P<key>[^\W\d_][\w /()'’.-]{0,39}?)(?P<joint>(?:\*\*|__)?[ \t]*[:=](?:\*\*|__)?)"
    r"(?P<space>[ \t]+|$|(?<==))"
)


class Records(PatternForm):
    """``kind`` is (name, what stands before the key, the key, what joins it to its value)."""

    name = "records"

    def read(self, text: str) -> Reading | None:
        """A line whose key is complete."""
        match = _LINE.match(text)
        if match is None:
            return None
        return Reading((self.name, match["lead"], match["key"], match["joint"]), match.end())
