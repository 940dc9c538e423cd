"""A row of a Markdown table that has begun below others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reame_suggeritore.proposals.fields import Field
from reame_suggeritore.proposals.forms.table_rule import IS_RULE, cells_of
from reame_suggeritore.proposals.page import Line
from reame_suggeritore.proposals.pattern import Step, coming_in
from reame_suggeritore.proposals.proposal import ANY_TEXT, DIGITS, ENDS, KNOWN
from reame_suggeritore.proposals.values import expected_value, likely_digits, likely_value

_SURE, _LIKELY, _GUESS = 0.95, 0.9, 0.5
_FIRST_CELL = 0.3
_ROWS = 6


class Row:
    """``above`` are the lines of the table so far, its head and the rule among them."""

    def __init__(self, line: Line, head: int, above: Sequence[Line]) -> None:
        self._line = line
        self._start = max(head, line.text.rfind("|") + 1)
        self._column = line.text.count("|", head)
        self._heads = cells_of(above[0].text)
        self._rule = next((cells_of(row.text) for row in above if IS_RULE.match(row.text)), self._heads)
        self._bodies = [row for row in above[1:] if not IS_RULE.match(row.text)][-_ROWS:]
        self._cells = [cells_of(row.text) for row in self._bodies]

    def go_on(self) -> Step | None:
        """The rest of the cell, where it is likely to end, and what the next ones begin with."""
        if self._column >= len(self._heads):
            return Step("", _SURE, True, KNOWN) if self._column == len(self._heads) else None
        cell = self._line.text[self._start :]
        if not cell.strip():
            return self._open(cell)
        begin, end = self._start + len(cell) - len(cell.lstrip()), self._start + len(cell.rstrip())
        if cell != cell.rstrip():
            step = Step("", _LIKELY, True, KNOWN)
        elif above := self._fields(self._column):
            coming = coming_in(Field.of(self._line, begin, end), above)
            if coming is None or not coming.completes:
                return coming
            step = coming
        elif cell[-1].isalpha():
            step = Step("", _FIRST_CELL, True, ENDS)
        else:
            return None
        return self._behind(cell, step)

    def _open(self, blank: str) -> Step | None:
        """What an empty cell is going to hold."""
        if len(blank) > 1:
            return None
        value, chance = self._value(self._column)
        if value is None:
            digits = likely_digits(self._texts(self._column))
            return Step(f" {digits}"[len(blank) :], _LIKELY, False, KNOWN, DIGITS) if digits else None
        step = Step(f" {value}"[len(blank) :], chance, True, KNOWN)
        return self._behind(blank, step)

    def _behind(self, cell: str, step: Step) -> Step | None:
        """What follows when ``step`` completes the cell: blanks, the pipe, and as much of the next cells as can
        be told."""
        text = step.text
        column = self._column
        cell += step.text
        while True:
            blanks = self._blanks(column, cell)
            if blanks is None:
                return None if text == step.text else Step(text, step.confidence, False, step.basis)
            text += f"{blanks}|"
            column += 1
            if column == len(self._heads):
                return Step(text, step.confidence, True, step.basis)
            value, _ = self._value(column)
            if value is None:
                digits = likely_digits(self._texts(column))
                samples = DIGITS if digits else self._beginnings(column)
                return Step(f"{text} {digits}", step.confidence, False, step.basis, samples)
            cell = f" {value}"
            text += cell

    def _value(self, column: int) -> tuple[str | None, float]:
        texts = self._texts(column)
        known = expected_value(texts)
        return (known, _LIKELY) if known is not None else (likely_value(texts), _GUESS)

    def _texts(self, column: int) -> list[str]:
        return [cells[column].strip() for cells in self._cells if column < len(cells)]

    def _fields(self, column: int) -> list[Field]:
        fields = []
        for row in self._bodies:
            pipes = [m.start() for m in re.finditer(r"\|", row.text)]
            if column + 1 < len(pipes):
                start, end = pipes[column] + 1, pipes[column + 1]
                text = row.text[start:end]
                start += len(text) - len(text.lstrip())
                fields.append(Field.of(row, start, start + len(text.strip())))
        return fields

    def _blanks(self, column: int, cell: str) -> str | None:
        """Those between what ``cell`` holds and the next pipe; None where it holds more than that already."""
        content = cell.rstrip()
        wanted = self._width(column, content.strip(), cells=self._above(column)) - len(content)
        missing = max(1, wanted) - (len(cell) - len(content))
        return " " * missing if missing >= 0 else None

    def _above(self, column: int) -> list[str]:
        return [cells[column] for cells in self._cells if column < len(cells)]

    def _width(self, column: int, content: str, cells: Sequence[str]) -> int:
        """Characters up to the pipe: as in the latest cell that says the same, or that is padded; 0 where
        nothing is."""
        same = [cell for cell in cells if cell.strip() == content]
        padded = [cell for cell in cells if not _is_tight(cell)]
        if same or padded:
            return len((same or padded)[-1])
        unpadded = bool(self._cells) and all(map(_is_tight, (c for row in self._cells for c in row)))
        if unpadded or (cells and len(content) + 2 >= min(map(len, cells))):
            return 0
        return len(self._rule[column]) if column < len(self._rule) else 0

    def _beginnings(self, column: int) -> tuple[str, ...]:
        begun = {text[0] for text in self._texts(column) if text}
        return tuple(sorted(begun)[:3]) or ANY_TEXT


def _is_tight(cell: str) -> bool:
    return cell == f" {cell.strip()} "
