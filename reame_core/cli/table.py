"""Tables for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from reame_core.cli.terminal import is_terminal, one_line, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDE = 10_000
"""Columns where no terminal sets a limit: nothing is wrapped then, so that other programs can read it."""


def write_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """On a terminal long cells are folded; elsewhere each row is one line."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    on_terminal = is_terminal(sys.stdout)
    console = Console(width=None if on_terminal else WIDE, force_terminal=on_terminal, highlight=False)
    with console.capture() as captured:
        console.print(table)
    write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()), styled=True)
