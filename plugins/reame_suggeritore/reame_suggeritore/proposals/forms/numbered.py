"""Numbered and lettered lists, also nested: ``1.``, ``1)``, ``(1)``, ``a.``, ``ii)``, ``2.1``, ``Step 3:``."""

from __future__ import annotations

import re

from reame_suggeritore.proposals.ordinals import DECIMAL, following, is_label, style_of
from reame_suggeritore.proposals.outline import Opening, Outline, PatternForm, Reading, indent_of
from reame_suggeritore.proposals.sequence import Kind

_ITEM = re.compile(
    r"(?P<lead>[ \t]*(?:[*_>] ?)*(?P<word>[A-Z][a-z]+ )?\(?)"
    r"(?P<label>\d{1,4}(?:\.\d{1,3})*|[A-Za-z]|[ivxlc]{2,6}|[IVXLC]{2,6})"
    r"(?P<close>[.):\]]+|(?<=\d))"
    r"(?P<space>[ \t]+)"
)
_GOES_ON = 0.75


class Numbered(PatternForm):
    """``kind`` is (name, what stands before the label, its style, what stands behind it)."""

    name = "numbered"

    def read(self, text: str) -> Reading | None:
        """An item whose label is complete."""
        match = _ITEM.match(text)
        if match is None or not is_label(match["label"]):
            return None
        label = match["label"]
        if (not match["close"] and "." not in label) or (match["word"] and match["close"][0] != ":"):
            return None
        style = DECIMAL + "." * label.count(".") if label[0].isdigit() else ("A" if label.isupper() else "a")
        return Reading((self.name, match["lead"], style, match["close"] + match["space"]), match.end())

    def opening(self, kind: Kind, outline: Outline) -> Opening | None:
        """The next label, or the first one where an outer item lies between."""
        _, lead, _, behind = kind
        label = self._label(kind, outline)
        return Opening(f"{lead}{label}{behind}") if label is not None else None

    def _label(self, kind: Kind, outline: Outline) -> str | None:
        latest = outline.latest(kind, 2)
        if not latest:
            return self._first_shown(kind, outline)
        labels = [_label_of(outline.lines[number].text) for number in latest]
        outer = self._outer_since(latest[-1], outline)
        if outer is None:
            before = labels[0] if len(labels) > 1 else None
            return following(labels[-1], style_of(labels[-1], before))
        if "." in labels[-1]:
            return f"{outer}.1" if outer[:1].isdigit() else None
        if labels[-1][0].isdigit():
            return "1".zfill(len(labels[-1]))
        first = labels[-1].lower() if len(latest) == 1 else "a"
        first = "i" if first == "i" or len(labels[-1]) > 1 else "a"
        return first.upper() if labels[-1].isupper() else first

    @staticmethod
    def _first_shown(kind: Kind, outline: Outline) -> str | None:
        """The label with which the last list of a prompt began."""
        shown = outline.shown(kind, len(outline.kinds))
        labels = [_label_of(outline.lines[number].text) for number in shown]
        firsts = [label for label in labels if label.lower() in ("0", "1", "01", "a", "i")]
        return firsts[-1] if firsts else None

    def _outer_since(self, number: int, outline: Outline) -> str | None:
        """The label of the last outer item or heading behind line ``number``; None where there is none."""
        depth = _depth(outline.lines[number].text)
        dots = _label_of(outline.lines[number].text).count(".")
        for i in range(len(outline.lines) - 1, number, -1):
            text, kind = outline.lines[i].text, outline.kinds[i]
            if kind[0] == "headings":
                return ""
            if kind[0] == self.name:
                label = _label_of(text)
                if _depth(text) < depth or label.count(".") < dots:
                    return label
            elif kind[0] == "bullets" and _depth(text) < depth:
                return ""
        return None

    def successor(self, outline: Outline) -> tuple[Kind, float] | None:
        """A list goes on."""
        kind = outline.last_form
        return (kind, _GOES_ON) if kind[0] == self.name else None


def _label_of(text: str) -> str:
    match = _ITEM.match(text)
    return match["label"] if match else ""


def _depth(text: str) -> int:
    return len(indent_of(text).expandtabs(4))
