"""Lines of XML and HTML, in the order of those before."""

from __future__ import annotations

import re

from reame_suggeritore.proposals.outline import Opening, Outline, PatternForm, Reading
from reame_suggeritore.proposals.sequence import Kind

_TAG = re.compile(r"(?P<head>[ \t]*<(?P<name>/?[A-Za-z][\w:.-]*))(?:(?P<end>/?>)|(?P<space>[ \t]+)(?=\w))")


class Markup(PatternForm):
    """``kind`` is (name, the tag as far as it is fixed, whether that is the whole line)."""

    name = "markup"

    def read(self, text: str) -> Reading | None:
        """A line that begins with a tag whose name is complete."""
        match = _TAG.match(text)
        if match is None:
            return None
        whole = match["end"] is not None and match.end() == len(text.rstrip())
        return Reading((self.name, match.group(), whole), match.end())

    def opening(self, kind: Kind, outline: Outline) -> Opening | None:
        """The tag."""
        return Opening(str(kind[1]), whole=bool(kind[2]))
