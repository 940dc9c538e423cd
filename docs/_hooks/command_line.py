"""Writes ``<!-- commands -->`` of a page out as all commands of ``reame``, from their help."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return markdown.replace(MARK, commands_page()) if MARK in markdown else markdown


def commands_page() -> str:
    """Every command under a heading of its own, subcommands behind their group."""
    from reame_core.cli.app import reame

    return "\n".join(_sections(reame, "reame", None))


def _sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    with click.Context(command, info_name=name, parent=parent) as context:
        yield f"## `{context.command_path}`\n"
        formatter = MarkdownFormatter()
        command.format_help(context, formatter)
        yield formatter.getvalue()
        if isinstance(command, click.Group):
            for child in command.list_commands(context):
                found = command.get_command(context, child)
                assert found is not None
                yield from _sections(found, child, context)


class MarkdownFormatter(click.HelpFormatter):
    """Writes what click writes for terminals as Markdown."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self.write(f"```text\n{prog} {args}\n```\n\n")

    def write_heading(self, heading: str) -> None:
        self.write(f"**{heading}**\n\n")

    def write_paragraph(self) -> None:
        self.write("\n")

    def write_text(self, text: str) -> None:
        for paragraph in re.split(r"\n\s*\n", textwrap.dedent(text).strip()):
            verbatim = paragraph.lstrip()
            if verbatim.startswith("\b"):
                self.write(f"```text\n{textwrap.dedent(verbatim.lstrip(chr(8)).strip(chr(10)))}\n```\n\n")
            else:
                self.write(f"{_escaped(' '.join(paragraph.split()))}\n\n")

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        self.write("| | |\n|---|---|\n")
        for term, meaning in rows:
            self.write(f"| `{term.replace('|', chr(92) + '|')}` | {_escaped(meaning)} |\n")
        self.write("\n")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.write_paragraph()
        self.write_heading(name)
        yield

    @contextmanager
    def indentation(self) -> Iterator[None]:
        yield


def _escaped(text: str) -> str:
    """``text`` as it is, whatever Markdown would make of it."""
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", html.escape(text, quote=False))
