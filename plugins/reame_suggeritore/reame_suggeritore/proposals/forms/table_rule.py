"""The rule below the head of a Markdown table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from reame_suggeritore.proposals.outline import Outline, indent_of
from reame_suggeritore.proposals.pattern import Step
from reame_suggeritore.proposals.proposal import KNOWN

IS_RULE = re.compile(r"\s*\|[ \t|:-]*-[ \t|:-]*$")
_SURE, _DEVIATED, _PERHAPS = 0.95, 0.8, 0.6

_Way = Callable[[str], str]
_WAYS: tuple[_Way, ...] = (
    lambda cell: "-" * len(cell),
    lambda cell: f" {'-' * (len(cell) - 2)} ",
    lambda cell: "---",
    lambda cell: " --- ",
)
"""A cell of the head to one of the rule."""


def cells_of(row: str) -> list[str]:
    """What stands between the pipes."""
    return row.strip().strip("|").split("|")


def go_on_with_rule(text: str, head: str, outline: Outline) -> Step | None:
    """The rest of a rule that has begun as ``text``, cell by cell: models miscount dashes now and then."""
    heads = cells_of(head)
    *done, current = text.lstrip().removeprefix("|").split("|")
    if len(done) >= len(heads):
        return Step("", _SURE, True, KNOWN) if len(done) == len(heads) and not current else None
    way = max(_WAYS, key=lambda way: _fit(way, done, current, heads, outline))
    if done and not _fit(way, done, current, heads, outline)[1] and len(done) > 1:
        return None
    cells = list(map(way, heads))
    cell, *further = cells[len(done) :]
    if not text.strip():
        rest = f"|{cell}"
    elif cell.startswith(current):
        rest = cell[len(current) :]
    elif len(current) > len(cell) and not current.strip(" -:"):
        rest = ""
    else:
        return None
    deviated = done != cells[: len(done)] or not cell.startswith(current)
    sure = _DEVIATED if deviated else _SURE if text.strip(" \t|") else _PERHAPS
    indent = indent_of(head) if not text else ""
    return Step(indent + "|".join((rest, *further, "")), sure, True, KNOWN)


def _fit(
    way: _Way, done: Sequence[str], current: str, heads: Sequence[str], outline: Outline
) -> tuple[bool, int, bool]:
    """How well ``way`` fits: the cell that has begun, those before it, the last table's rule."""
    agreeing = sum(way(head) == cell for head, cell in zip(heads, done, strict=False))
    return way(heads[len(done)]).startswith(current), agreeing, _was_drawn(way, outline)


def _was_drawn(way: _Way, outline: Outline) -> bool:
    """Whether the last rule of another table was drawn in this way."""
    for i in range(len(outline.kinds) - 1, 0, -1):
        if outline.kinds[i][0] == "tables" and IS_RULE.match(outline.lines[i].text):
            return list(map(way, cells_of(outline.lines[i - 1].text))) == cells_of(outline.lines[i].text)
    return False
