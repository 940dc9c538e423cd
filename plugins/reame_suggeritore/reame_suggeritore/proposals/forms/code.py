"""Lines of a program: their indentation, and words that begin statements."""

from __future__ import annotations

import re

from reame_suggeritore.proposals.outline import Opening, Outline, PatternForm, Reading, indent_of
from reame_suggeritore.proposals.sequence import BLANK, Kind

_WORDS = (
    "async def", "def", "class", "return", "if", "elif", "else", "for", "while", "import", "from", "function",
    "const", "let", "public", "private", "fn", "func", "case", "end", "try", "except", "@",
)  # fmt: skip
_STATEMENT = re.compile(rf"[ \t]*(?P<word>{'|'.join(_WORDS)})(?=\W)[ \t]*")
_DEEPER = ("{", "(", "[", ":")
_SAME_DEPTH, _DEEPER_BY = 0.5, 0.9


class Code(PatternForm):
    """``kind`` is (name, indentation, word). Used in blocks of code alone."""

    name = "code"

    def read(self, text: str) -> Reading | None:
        """Any line that is not blank."""
        match = _STATEMENT.match(text)
        indent = indent_of(text)
        if match is not None:
            return Reading((self.name, indent, match["word"]), match.end())
        return Reading((self.name, indent, ""), len(indent)) if text.strip() else None

    def successor(self, outline: Outline) -> tuple[Kind, float] | None:
        """One step deeper behind a line that opens a block, else as deep as before."""
        if not outline.kinds or outline.kinds[-1] == BLANK or outline.kinds[-1][0] != self.name:
            return None
        text = outline.lines[-1].text.rstrip()
        indent = indent_of(text)
        if text.endswith(_DEEPER):
            return (self.name, indent + self._unit(outline), ""), _DEEPER_BY
        return ((self.name, indent, ""), _SAME_DEPTH) if indent else None

    def _unit(self, outline: Outline) -> str:
        """The indentation of the first indented line, or four blanks."""
        for line in outline.lines:
            if line.text.strip() and (indent := indent_of(line.text)):
                return "\t" if indent[0] == "\t" else indent[:4]
        return "    "

    def opening(self, kind: Kind, outline: Outline) -> Opening | None:
        """Indentation and word."""
        latest = outline.latest(kind, 1)
        if not latest:
            return Opening(str(kind[1]))
        return Opening(outline.lines[latest[0]].text[: outline.heads[latest[0]]])
