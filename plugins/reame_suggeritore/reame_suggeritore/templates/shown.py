"""What the lines of a prompt show of the form of its answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reame_suggeritore.proposals.json.memory import Memory
from reame_suggeritore.proposals.json.proposer import Json
from reame_suggeritore.proposals.lines import LABELLED, Lines
from reame_suggeritore.proposals.outline import Outline
from reame_suggeritore.proposals.page import Line
from reame_suggeritore.proposals.sequence import Kind

_MOST_LINES = 300
_LEAST_LABELS = 2


def show_lines(lines: Lines, prompt: Sequence[Line]) -> None:
    """Let ``lines`` know those of the prompt: what followed what there may do so in the answer."""
    for line in prompt[-_MOST_LINES:]:
        lines.add(line)
    lines.begin_answer(labels(lines.outline))


def labels(outline: Outline) -> tuple[Kind, ...]:
    """The kinds of the last labelled lines in a row: perhaps they are those of the answer. A label with nothing
    behind it that stands before others introduces them."""
    kinds = outline.kinds
    end = len(kinds)
    while end:
        start = end
        while start and kinds[start - 1][0] in LABELLED:
            start -= 1
        if end - start > 1 and _is_empty(outline, start) and not _is_empty(outline, start + 1):
            start += 1
        if end - start >= _LEAST_LABELS:
            return tuple(kinds[start:end])
        end = start - 1 if start else 0
    return ()


def _is_empty(outline: Outline, number: int) -> bool:
    return not outline.lines[number].text[outline.heads[number] :].strip()


def shown_json(prompt: Iterable[Line]) -> Memory:
    """Keys, their order and the blanks between them, of all JSON in the prompt. Its values are its own."""
    memory = Memory(keeps_values=False)
    reader = Json(lambda count: False, memory)
    for line in prompt:
        reader.read(line.text + "\n")
    memory.keeps_values = True
    return memory
