"""The pages of the documentation, and the code blocks in them."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SERVER = "http://127.0.0.1:8080"
"""Where servers are on the pages."""
_PARSER = MarkdownIt("commonmark").enable("table")
_OURS = re.compile(r"(uv run )?(reame|python -m bench) \S")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced code block."""

    page: Path
    line: int
    """Of the page, from 1."""
    language: str
    text: str
    file: str = ""
    """The name of the file that it is, where the page gives it one."""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """The site's pages, and what stands beside the code."""
    beside = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("*/README.md"),
        *ROOT.glob("plugins/*/README.md"),
    ]
    return [*sorted(DOCS.rglob("*.md")), *sorted(beside)]


def blocks_of(page: Path) -> list[Block]:
    """In their order, also those within lists and notes."""
    return [
        Block(
            page,
            token.map[0] + 1,
            token.info.partition(" ")[0],
            textwrap.dedent(token.content),
            _title(token.info),
        )
        for token in _PARSER.parse(page.read_text("utf-8"))
        if token.type in ("fence", "code_block") and token.map is not None
    ]


def inline_commands(page: Path) -> list[str]:
    """What stands between single backticks and begins as a command of ours."""
    inline = (token for token in _PARSER.parse(page.read_text("utf-8")) if token.type == "inline")
    codes = (each.content for token in inline for each in token.children or () if each.type == "code_inline")
    return [code for code in codes if _OURS.match(code)]


def _title(info: str) -> str:
    found = re.search(r'title="([^"]+)"', info)
    return found[1] if found else ""


BLOCKS = [block for page in pages() for block in blocks_of(page)]


def in_language(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]
