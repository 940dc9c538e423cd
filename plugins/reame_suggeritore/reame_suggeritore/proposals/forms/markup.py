"""Lines of XML and HTML, in the order of those before; and the tags that close what is open."""

from __future__ import annotations

import re

from reame_suggeritore.proposals.outline import Opening, Outline, PatternForm, Reading
from reame_suggeritore.proposals.page import Line
from reame_suggeritore.proposals.pattern import Content, Step, go_on
from reame_suggeritore.proposals.proposal import KNOWN
from reame_suggeritore.proposals.sequence import Kind

_TAG = re.compile(r"(?P<head>[ \t]*<(?P<name>/?[A-Za-z][\w:.-]*))(?:(?P<end>/?>)|(?P<space>[ \t]+)(?=\w))")
_ANY_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]*)[^<>]*?(?P<empty>/?)>")
_CLOSING = re.compile(r"[ \t]*</[\w:.-]*$")
_ALONE = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})
_SURE = 0.97


class Markup(PatternForm):
    """``kind`` is (name, the tag as far as it is fixed, whether that is the whole line)."""

    name = "markup"

    def read(self, text: str) -> Reading | None:
        """A line that begins with a tag whose name is complete, or with a closing one."""
        match = _TAG.match(text)
        if match is not None:
            whole = match["end"] is not None and match.end() == len(text.rstrip())
            return Reading((self.name, match.group(), whole), match.end())
        return Reading((self.name, "</", True), len(text)) if _CLOSING.match(text) else None

    def opening(self, kind: Kind, outline: Outline) -> Opening | None:
        """The tag."""
        return Opening(str(kind[1]), whole=bool(kind[2]))

    def go_on(self, line: Line, reading: Reading, outline: Outline) -> Step | None:
        """The closing tag where one has begun, or where the text before it is likely to end."""
        begun = line.text.rfind("</")
        if begun >= 0 and ">" not in line.text[begun:]:
            closing = _closing(line.text[:begun], outline)
            fits = closing is not None and closing.startswith(line.text[begun:])
            return Step(closing[len(line.text) - begun :], _SURE, True, KNOWN) if fits and closing else None
        closing = _closing(line.text, Outline())
        if closing is None or reading.kind[2]:
            return super().go_on(line, reading, outline)
        return self._inner(line, reading, outline, closing)

    @staticmethod
    def _inner(line: Line, reading: Reading, outline: Outline, closing: str) -> Step | None:
        """The text of an element whose siblings stood in a line each."""
        now = Content(line, reading.head)
        siblings = [each.without(closing) for each in outline.siblings(reading.kind)]
        step = go_on(now, [each for each in siblings if each is not None])
        if step is None or not step.completes:
            return step
        return Step(step.text + closing, step.confidence, True, step.basis)


def _closing(text: str, outline: Outline) -> str | None:
    """The tag that closes what is open behind ``text``, with which the line behind ``outline`` begins."""
    closed = 0
    for line in (text, *(line.text for line in reversed(outline.lines[outline.start :]))):
        for tag in reversed(list(_ANY_TAG.finditer(line))):
            if tag["close"]:
                closed += 1
            elif tag["empty"] or tag["name"].lower() in _ALONE:
                continue
            elif closed:
                closed -= 1
            else:
                return f"</{tag['name']}>"
    return None
