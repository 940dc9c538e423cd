"""``python -m bench arca``."""

from __future__ import annotations

import click

from bench.arca import NAMES
from bench.case import Case
from bench.measuring import Asked, measuring


@click.command()
@measuring(NAMES, rounds=5, attempts=3, buffers="auto")
def arca(asked: Asked) -> None:
    """Servers that share a store: warm starts from another's blocks, and what publishing them costs."""
    asked.run("bench.arca", NAMES, Case)
