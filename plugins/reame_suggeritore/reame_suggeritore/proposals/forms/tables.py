"""Markdown tables: the rule below the head, pipes, the width of columns, a first column that counts."""

from __future__ import annotations

import re
from collections.abc import Callable

from reame_suggeritore.proposals.fields import Field, chance_of_end, expected_value, literal_ahead
from reame_suggeritore.proposals.outline import Opening, Outline, PatternForm, Reading, indent_of
from reame_suggeritore.proposals.page import Line
from reame_suggeritore.proposals.pattern import Step
from reame_suggeritore.proposals.proposal import ANY_TEXT, DIGITS
from reame_suggeritore.proposals.sequence import Kind

ROW, RULE = "row", "rule"
_RULE = re.compile(r"\s*\|[ \t|:-]*-[ \t|:-]*$")
_SURE, _LIKELY, _GOES_ON, _PERHAPS = 0.95, 0.9, 0.75, 0.6
_FIRST_CELL = 0.3
_ROWS = 6


class Tables(PatternForm):
    """``kind`` is (name, indentation, ``ROW`` or ``RULE``)."""

    name = "tables"

    def read(self, text: str) -> Reading | None:
        """A line that begins with a pipe."""
        indent = indent_of(text)
        if not text.startswith("|", len(indent)):
            return None
        return Reading((self.name, indent, RULE if _RULE.match(text) else ROW), len(indent) + 1)

    def successor(self, outline: Outline) -> tuple[Kind, float] | None:
        """A rule behind the head, else one row more."""
        if not outline.kinds or outline.kinds[-1][0] != self.name:
            return None
        name, indent, part = outline.kinds[-1]
        if part == ROW and len(_rows(outline)) == 1:
            return (name, indent, RULE), _SURE
        return (name, indent, ROW), _SURE if part == RULE else _GOES_ON

    def opening(self, kind: Kind, outline: Outline) -> Opening | None:
        """A pipe, or the whole rule."""
        return Opening(f"{kind[1]}|") if outline.kinds and outline.kinds[-1][0] == self.name else None

    def go_on(self, line: Line, reading: Reading, outline: Outline) -> Step | None:
        """Rules are known from their head; cells end where those above do."""
        rows = _rows(outline)
        if not rows:
            return None
        if reading.kind[2] == RULE or (len(rows) == 1 and not line.text.strip(" \t|:-")):
            return _rule(line.text, rows[0], outline)
        return _Row(line, reading.head, rows).go_on() if len(rows) > 1 else None


def _rows(outline: Outline) -> list[Line]:
    """The lines of the table that the last line belongs to, the rule among them."""
    found = []
    for line, kind in zip(reversed(outline.lines), reversed(outline.kinds), strict=True):
        if kind[0] != Tables.name:
            break
        found.append(line)
    return found[::-1]


def _cells(text: str) -> list[str]:
    return text.strip().strip("|").split("|")


_RULES: tuple[Callable[[str], str], ...] = (
    lambda cell: "-" * len(cell),
    lambda cell: f" {'-' * (len(cell) - 2)} ",
    lambda cell: "---",
    lambda cell: " --- ",
)


def _rule(text: str, head: Line, outline: Outline) -> Step | None:
    """The ways to draw a rule, that of the last table first."""
    cells = _cells(head.text)
    written = text.strip(" \t|")
    for draw in sorted(_RULES, key=lambda way: not _was_drawn(way, outline)):
        rule = indent_of(head.text) + "|" + "|".join(map(draw, cells)) + "|"
        if rule.startswith(text):
            return Step(rule[len(text) :], _SURE if written else _PERHAPS, True, False)
    return None


def _was_drawn(way: Callable[[str], str], outline: Outline) -> bool:
    for i in range(len(outline.kinds) - 1, 0, -1):
        if outline.kinds[i][0] == Tables.name and outline.kinds[i][2] == RULE:
            cells = "|".join(map(way, _cells(outline.lines[i - 1].text)))
            return outline.lines[i].text.strip().strip("|") == cells
    return False


class _Row:
    """One row that has begun, below others."""

    def __init__(self, line: Line, head: int, above: list[Line]) -> None:
        self._line = line
        self._above = above
        self._starts = [head, *(m.end() for m in re.finditer(r"\|", line.text[head:]))]
        self._starts[1:] = [head + at for at in self._starts[1:]]
        self._column = len(self._starts) - 1
        self._columns = len(_cells(above[0].text))
        self._bodies = [row for row in above[1:] if not _RULE.match(row.text)][-_ROWS:]

    def go_on(self) -> Step | None:
        """The rest of the cell, where it is likely to end, and what begins the next one."""
        if self._column >= self._columns:
            return Step("", _SURE, True, False) if self._column == self._columns else None
        start = self._starts[-1]
        cell = self._line.text[start:]
        content = cell.strip()
        if not content:
            return self._value(cell)
        begin, end = start + len(cell) - len(cell.lstrip()), start + len(cell.rstrip())
        now = Field(content, self._line.tokens(begin, end))
        ended = cell != cell.rstrip()
        above = self._fields(self._column)
        if not ended and (literal := literal_ahead(now, above)):
            return Step(literal, _LIKELY, False, False, DIGITS)
        chance = _LIKELY if ended else chance_of_end(now, above) if above else _FIRST_CELL
        blanks = self._padding(cell)
        if chance == 0 or blanks is None:
            return None
        completes = self._column + 1 == self._columns
        samples = ("a",) if completes else self._beginnings(self._column + 1)
        text = f"{blanks}|"
        if not completes:
            value = expected_value([field.text for field in self._fields(self._column + 1)])
            text += f" {value} " if value else " "
        return Step(text, chance, completes, not ended, samples)

    def _value(self, cell: str) -> Step | None:
        """What an empty cell is going to hold."""
        value = expected_value([field.text for field in self._fields(self._column)])
        if value is None or len(cell) > 1:
            return None
        text = f" {value}"[len(cell) :]
        blanks = self._padding(cell + text)
        return Step(f"{text}{blanks}| ", _LIKELY, False, False, self._beginnings(self._column + 1))

    def _fields(self, column: int) -> list[Field]:
        fields = []
        for row in self._bodies:
            pipes = [m.start() for m in re.finditer(r"\|", row.text)]
            if column + 1 < len(pipes):
                start, end = pipes[column] + 1, pipes[column + 1]
                text = row.text[start:end]
                start += len(text) - len(text.lstrip())
                fields.append(Field(text.strip(), row.tokens(start, start + len(text.strip()))))
        return fields

    def _padding(self, cell: str) -> str | None:
        """The blanks up to the next pipe: as the columns above are wide, or one."""
        above = self._above[-1].text
        cells = above.strip().strip("|").split("|")
        if self._column >= len(cells):
            return None
        if all(each == f" {each.strip()} " for each in cells) and not _RULE.match(above):
            wanted = 1
        else:
            pipes = [m.start() for m in re.finditer(r"\|", above)]
            aligned = [start - 1 for start in self._starts] == pipes[: len(self._starts)]
            start = self._starts[-1]
            width = pipes[self._column + 1] - start if aligned else len(cells[self._column])
            wanted = max(1, width - len(cell.rstrip()))
        written = len(cell) - len(cell.rstrip())
        return " " * (wanted - written) if wanted >= written else None

    def _beginnings(self, column: int) -> tuple[str, ...]:
        begun = {field.text[0] for field in self._fields(column) if field.text}
        return tuple(sorted(begun)[:3]) or ANY_TEXT
