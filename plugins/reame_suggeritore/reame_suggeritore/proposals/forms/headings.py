"""Markdown headings, also those that count."""

from __future__ import annotations

import re

from reame_suggeritore.proposals.ordinals import following, is_label, style_of
from reame_suggeritore.proposals.outline import Opening, Outline, PatternForm, Reading
from reame_suggeritore.proposals.sequence import Kind

_HEADING = re.compile(
    r"(?P<marks>#{1,6}[ \t]+(?:\*\*)?)(?:(?P<word>[A-Z]\w* )?(?P<label>\d{1,3}(?:\.\d{1,3})*|[A-Z]|[IVX]+)"
    r"(?P<close>[.):]?[ \t]+|:))?"
)


class Headings(PatternForm):
    """``kind`` is (name, marks, word before the label, what stands behind it, depth of its number)."""

    name = "headings"

    def read(self, text: str) -> Reading | None:
        """A heading whose marks and label are complete."""
        match = _HEADING.match(text)
        if match is None:
            return None
        label = match["label"]
        if label is None or not is_label(label) or (label.isalpha() and match["close"].isspace()):
            return Reading((self.name, match["marks"], None, None, 0), match.end("marks"))
        depth = label.count(".")
        return Reading((self.name, match["marks"], match["word"] or "", match["close"], depth), match.end())

    def opening(self, kind: Kind, outline: Outline) -> Opening | None:
        """The next label, where they count."""
        _, marks, word, close, _ = kind
        latest = outline.latest(kind, 2)
        if word is None:
            return Opening(str(marks))
        if not latest:
            return None
        labels = [_HEADING.match(outline.lines[i].text)["label"] for i in latest]  # type: ignore[index]
        label = following(labels[-1], style_of(labels[-1], labels[0] if len(labels) > 1 else None))
        return Opening(f"{marks}{word}{label}{close}") if label is not None else None
