"""Lines that go on as those before them: what comes next, how it begins, what is fixed in it, where it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reame_suggeritore.proposals.forms.bullets import Bullets
from reame_suggeritore.proposals.forms.code import Code
from reame_suggeritore.proposals.forms.fences import Fences
from reame_suggeritore.proposals.forms.headings import Headings
from reame_suggeritore.proposals.forms.markup import Markup
from reame_suggeritore.proposals.forms.numbered import Numbered
from reame_suggeritore.proposals.forms.records import Records
from reame_suggeritore.proposals.forms.separated import Separated
from reame_suggeritore.proposals.forms.tables import Tables
from reame_suggeritore.proposals.outline import Form, Outline, Reading
from reame_suggeritore.proposals.page import Line, Page
from reame_suggeritore.proposals.proposal import ANY_TEXT, Proposal
from reame_suggeritore.proposals.sequence import BLANK, PLAIN, Kind, next_kind

PROSE: tuple[Form, ...] = (
    Fences(), Tables(), Headings(), Numbered(), Bullets(), Markup(), Separated(), Records(),
)  # fmt: skip
"""In the order in which they are tried."""
PROGRAM: tuple[Form, ...] = (Fences(), Code())
NOTHING: tuple[Form, ...] = (Fences(),)
LABELLED = (Records.name, Markup.name)
"""Forms of lines that say what stands in them."""
ENDING = "ending"
"""The label of proposals to end the answer."""
_BY_NAME: dict[str, Form] = {form.name: form for form in (*PROSE, *PROGRAM)}
_TEXTUAL = frozenset(
    {"", "markdown", "md", "text", "txt", "yaml", "yml", "csv", "tsv", "xml", "html", "toml", "ini"}
)
"""Blocks of these languages, or of none, hold what text holds."""
_DATA = frozenset({"json", "jsonl", "jsonc"})
"""Not written in lines."""
_MOST_LINES, _MOST_AHEAD = 160, 6
_LEAST_AHEAD, _LEAST_INSIDE = 0.4, 0.6
_BEGUN = 0.95
_RULE = 0.9
"""What a form is so sure of does not depend on the kinds of lines before."""
_FIRST = 0.5
_FORM_ENDS, _FENCE_ENDS = 0.5, 0.7
_ROWS_BEGUN = (PLAIN[0], Separated.name)
"""What a row looks like that has few of its separators so far."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """What comes behind the last line break."""

    text: str
    confidence: float
    kind: Kind
    """Of the first line of ``text``."""
    samples: tuple[str, ...]
    end: bool = False


Finished = Callable[[Outline, Kind], bool]
"""Whether a text is complete whose next line would be of this kind."""


class Lines:
    """The lines of one text."""

    def __init__(self, finished: Finished, *, can_end: bool) -> None:
        self._finished = finished
        self._can_end = can_end
        self.outline = Outline()
        self._fence = ""
        self._labels: tuple[Kind, ...] = ()
        self._ahead: dict[tuple[int, Kind | None], Ahead | None] = {}

    def read(self, page: Page) -> None:
        """Take up the lines that have been completed."""
        for line in page.lines[len(self.outline.lines) - self.outline.start :]:
            self.add(line)

    def begin_answer(self, labels: tuple[Kind, ...]) -> None:
        """The lines so far are a prompt's; ``labels`` may be the kinds of the answer's."""
        self.outline.start = len(self.outline.lines)
        self._labels = labels
        self._fence = ""
        self._ahead.clear()

    def add(self, line: Line) -> None:
        """One complete line."""
        reading = self.reading(line.text)
        if reading.kind[0] == Fences.name:
            self._fence = "" if self._fence else line.text.strip()
        self.outline.add(line, reading)
        self._ahead.clear()

    @property
    def _forms(self) -> tuple[Form, ...]:
        language = self._fence.strip("`~").lower()
        return PROSE if language in _TEXTUAL else NOTHING if language in _DATA else PROGRAM

    def reading(self, text: str) -> Reading:
        """What a line is."""
        if not text.strip():
            return Reading(BLANK, len(text))
        for form in self._forms:
            if (reading := form.read(text)) is not None:
                return reading
        return Reading(PLAIN, 0)

    def propose(self, line: Line) -> Proposal | None:
        """How ``line``, the last one, goes on."""
        ahead = self._coming(None)
        if ahead is not None and ahead.text.startswith(line.text) and (ahead.text != line.text or ahead.end):
            confidence = max(ahead.confidence, _BEGUN) if line.text.strip() else ahead.confidence
            label = ENDING if ahead.end else ahead.kind[0] or "blank"
            return Proposal(ahead.text[len(line.text) :], confidence, str(label), ahead.samples, ahead.end)
        return self._inside(line, ahead) if line.text.strip() else None

    def _inside(self, line: Line, ahead: Ahead | None) -> Proposal | None:
        reading = self.reading(line.text)
        if ahead is not None and ahead.kind[0] == Separated.name and reading.kind[0] in _ROWS_BEGUN:
            reading = Reading(ahead.kind, 0)
        form = _form_of(reading.kind)
        step = form.go_on(line, reading, self.outline) if form is not None else None
        if form is None or step is None:
            return None
        label = form.name + step.basis
        if not step.completes:
            return Proposal(step.text, step.confidence, label, step.samples) if step.text else None
        behind = self._coming((line, reading))
        if behind is None:
            return Proposal(step.text, step.confidence, label) if step.text else None
        text = step.text + ("\n" + behind.text if behind.text or not behind.end else "")
        label = ENDING if behind.end else label
        return Proposal(text, step.confidence * behind.confidence, label, behind.samples, behind.end)

    def _coming(self, current: tuple[Line, Reading] | None) -> Ahead | None:
        """What comes behind the complete lines, or behind the ``current`` one when it is complete."""
        key = len(self.outline.lines), current[1].kind if current else None
        if key not in self._ahead:
            outline = self.outline.tail(_MOST_LINES)
            if current is not None:
                outline.add(*current)
            self._ahead[key] = self._look_ahead(outline)
        return self._ahead[key]

    def _look_ahead(self, outline: Outline) -> Ahead | None:
        fence = outline.open_fence
        if (chance := self._ended(outline)) is not None:
            return Ahead(fence, chance, BLANK, ("",), end=True)
        text, confidence, first = "", 1.0, None
        for _ in range(_MOST_AHEAD):
            coming = self._next_kind(outline)
            if coming is None or confidence * coming[1] < _LEAST_AHEAD:
                break
            kind = coming[0]
            if self._can_end and self._finished(outline, kind):
                return Ahead(text.rstrip("\n") + fence, coming[1], first or kind, ("",), end=True)
            line, whole, samples = self._opened(kind, outline)
            if line is None:
                break
            first = first or kind
            confidence *= coming[1]
            text += line.text
            if not whole:
                return Ahead(text, confidence, first, samples)
            text += "\n"
            outline.add(line, Reading(kind, len(line.text)))
        return Ahead(text, confidence, first, ANY_TEXT) if first is not None else None

    def _ended(self, outline: Outline) -> float | None:
        """How likely the answer ends behind ``outline``, where it has a form that is complete."""
        if not self._can_end or len(outline.lines) == outline.start or outline.kinds[-1] == BLANK:
            return None
        if self._labels and outline.kinds[-1] == self._labels[-1] and len(outline.latest(self._labels[0])) < 2:
            return _FORM_ENDS
        in_fences = outline.kinds[outline.start][0] == outline.kinds[-1][0] == Fences.name
        return _FENCE_ENDS if in_fences and not outline.open_fence else None

    def _next_kind(self, outline: Outline) -> tuple[Kind, float] | None:
        if len(outline.lines) == outline.start:
            return self._first_kind(outline)
        form = _form_of(outline.last_form)
        rule = form.successor(outline) if form is not None else None
        if rule is not None and rule[1] >= _RULE:
            return rule
        coming = next_kind(outline.kinds)
        if coming is not None and coming[0] != PLAIN:
            return coming
        return rule if coming is None else None

    def _first_kind(self, outline: Outline) -> tuple[Kind, float] | None:
        """What an answer begins with: what followed such questions in the prompt, or the first label there."""
        coming = next_kind(outline.kinds)
        if coming is not None and coming[0][0] in LABELLED:
            return coming
        return (self._labels[0], _FIRST) if self._labels else None

    @staticmethod
    def _opened(kind: Kind, outline: Outline) -> tuple[Line | None, bool, tuple[str, ...]]:
        """The beginning of a line of this kind as far as it is fixed, and whether that is all of it."""
        if kind == BLANK:
            return Line(), True, ANY_TEXT
        form = _form_of(kind)
        opening = form.opening(kind, outline) if form is not None else None
        if form is None or opening is None:
            return None, False, ANY_TEXT
        line = Line(opening.text)
        if opening.whole:
            return line, True, ANY_TEXT
        step = form.go_on(line, Reading(kind, len(line.text)), outline)
        if step is None or step.basis or step.confidence < _LEAST_INSIDE:
            return line, False, ANY_TEXT
        return Line(line.text + step.text), step.completes, step.samples


def _form_of(kind: Kind) -> Form | None:
    return _BY_NAME.get(str(kind[0]))
