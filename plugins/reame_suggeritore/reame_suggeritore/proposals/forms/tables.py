"""Markdown tables: the rule below the head, pipes, the width of columns, a first column that counts."""

from __future__ import annotations

from reame_suggeritore.proposals.forms.table_row import Row
from reame_suggeritore.proposals.forms.table_rule import IS_RULE, go_on_with_rule
from reame_suggeritore.proposals.outline import Opening, Outline, PatternForm, Reading, indent_of
from reame_suggeritore.proposals.page import Line
from reame_suggeritore.proposals.pattern import Step
from reame_suggeritore.proposals.sequence import Kind

ROW, RULE = "row", "rule"
_SURE, _LIKELY, _GOES_ON = 0.95, 0.9, 0.75
_FEW = 4
"""Lines of a table: the kinds of so few do not tell what comes next."""


class Tables(PatternForm):
    """``kind`` is (name, indentation, ``ROW`` or ``RULE``)."""

    name = "tables"

    def read(self, text: str) -> Reading | None:
        """A line that begins with a pipe."""
        indent = indent_of(text)
        if not text.startswith("|", len(indent)):
            return None
        return Reading((self.name, indent, RULE if IS_RULE.match(text) else ROW), len(indent) + 1)

    def successor(self, outline: Outline) -> tuple[Kind, float] | None:
        """A rule behind the head, else one row more."""
        if not outline.kinds or outline.kinds[-1][0] != self.name:
            return None
        name, indent, part = outline.kinds[-1]
        if part == ROW and len(_rows(outline)) == 1:
            return (name, indent, RULE), _SURE
        return (name, indent, ROW), _LIKELY if len(_rows(outline)) < _FEW else _GOES_ON

    def opening(self, kind: Kind, outline: Outline) -> Opening | None:
        """A pipe, or the whole rule."""
        return Opening(f"{kind[1]}|") if outline.kinds and outline.kinds[-1][0] == self.name else None

    def go_on(self, line: Line, reading: Reading, outline: Outline) -> Step | None:
        """Rules are known from their head; cells end where those above do."""
        rows = _rows(outline)
        if not rows:
            return None
        if reading.kind[2] == RULE or (len(rows) == 1 and not line.text.strip(" \t|:-")):
            return go_on_with_rule(line.text, rows[0].text, outline)
        return Row(line, reading.head, rows).go_on() if len(rows) > 1 else None


def _rows(outline: Outline) -> list[Line]:
    """The lines of the table that the last line belongs to, the rule among them."""
    found = []
    for line, kind in zip(reversed(outline.lines), reversed(outline.kinds), strict=True):
        if kind[0] != Tables.name:
            break
        found.append(line)
    return found[::-1]
