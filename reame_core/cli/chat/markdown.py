"""Markdown that grows: what is finished, and what may still change, as lines for a terminal."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.segment import Segment, Segments
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token
    from rich.console import ConsoleOptions, JustifyMethod, RenderableType, RenderResult

_THEME = Theme({"markdown.code": "cyan", "markdown.h1": "bold underline", "markdown.h2": "bold"})
_CODE_THEME = "ansi_dark"
"""Of the terminal's own colours: readable on light and on dark."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the screen: its text with styles, all of which end in it, and its width in cells."""

    text: str
    cells: int


class GrowingMarkdown:
    """The text of an answer so far, less what has been taken as finished.

    A block at the top level is finished when another one has begun in a whole line after it: nothing that
    comes later can change it then, since link definitions are not recognised. What a model writes is shown:
    HTML and images appear as they are written, and each line break is one."""

    def __init__(self) -> None:
        self._parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
        self._parser.disable(["reference", "image", "html_block", "html_inline"])
        self._console = Console(
            file=io.StringIO(), force_terminal=True, highlight=False, theme=_THEME, legacy_windows=False
        )
        self._source = ""
        self._begun = False
        """Whether a finished block was taken: the next one has an empty line before it."""

    def add(self, text: str) -> None:
        """``text`` holds no control characters but line breaks and tabs."""
        self._source += text

    def take_finished(self, width: int) -> list[Line]:
        """The lines of all blocks that are finished now; they are not in ``unfinished`` any more."""
        whole = self._source[: self._source.rfind("\n") + 1]
        starts = [start for start, _ in _blocks(self._parser.parse(whole))]
        if len(starts) < 2:
            return []
        return self._take(starts[-1], width)

    def take_all(self, width: int) -> list[Line]:
        """All that is left, for the end of the answer."""
        return self._take(len(self._source.splitlines()), width)

    def unfinished(self, width: int) -> list[Line]:
        """The lines that may still change."""
        return self._lines(self._source, width)

    def _take(self, line_count: int, width: int) -> list[Line]:
        source_lines = self._source.split("\n")
        lines = self._lines("\n".join(source_lines[:line_count]), width)
        self._source = "\n".join(source_lines[line_count:])
        self._begun |= bool(lines)
        return lines

    def _lines(self, source: str, width: int) -> list[Line]:
        lines: list[Line] = []
        for _, tokens in _blocks(self._parser.parse(source)):
            if lines or self._begun:
                lines.append(Line("", 0))
            lines += self._block_lines(tokens, source, width)
        return lines

    def _block_lines(self, tokens: list[Token], source: str, width: int) -> list[Line]:
        try:
            return _rendered(self._console, _Answer(tokens), width)
        except Exception:
            # Whatever a model writes is shown, also where the renderer cannot make sense of it.
            start, end = tokens[0].map or (0, None)
            return _rendered(self._console, Text("\n".join(source.split("\n")[start:end])), width)


def _blocks(tokens: list[Token]) -> Iterator[tuple[int, list[Token]]]:
    """(first line, tokens) of each block at the top level."""
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            first = block[0].map
            assert first is not None
            yield first[0], block
            block = []


def _rendered(console: Console, renderable: RenderableType, width: int) -> list[Line]:
    options = console.options.update(width=width, height=None)
    lines = [_stripped(line) for line in console.render_lines(renderable, options, pad=False)]
    used = [place for place, line in enumerate(lines) if line]
    # Lists have an empty line before them already, other blocks none: the distance is ours to keep.
    return [_line(console, line) for line in lines[used[0] : used[-1] + 1]] if used else []


def _stripped(line: list[Segment]) -> list[Segment]:
    """Without the blanks that fill up a line, which would be copied with it."""
    while line and not line[-1].text.strip(" "):
        line = line[:-1]
    if line and line[-1].text.endswith(" "):
        line = [*line[:-1], Segment(line[-1].text.rstrip(" "), line[-1].style)]
    return line


def _line(console: Console, segments: list[Segment]) -> Line:
    cells = sum(segment.cell_length for segment in segments)
    with console.capture() as captured:
        console.print(Segments(segments), end="", width=max(cells, 1), crop=False)
    return Line(captured.get(), cells)


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _Code(CodeBlock):
    """Between its fences, so that one sees where it ends; nothing is beside it, so that it can be copied."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        language = "" if self.lexer_name == "text" else self.lexer_name
        yield Text(f"```{language}", style="dim")
        code = str(self.text).rstrip("\n")
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, background_color="default")
        yield Text("```", style="dim")


class _Answer(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, tokens: list[Token]) -> None:
        # A link's target is shown, not hidden behind a text of the model's choice.
        super().__init__("", code_theme=_CODE_THEME, hyperlinks=False)
        for token in tokens:
            for child in token.children or ():
                if child.type == "softbreak":
                    child.type = "hardbreak"
        self.parsed = tokens
