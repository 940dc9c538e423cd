"""``python -m bench diskkv``."""

from __future__ import annotations

import click

from bench.case import Case
from bench.diskkv import NAMES
from bench.measuring import Asked, measuring


@click.command()
@measuring(NAMES, rounds=5, attempts=3)
def diskkv(asked: Asked) -> None:
    """The disk cache: the first token from it, sizes of blocks, what writing costs, what is shared."""
    asked.run("bench.diskkv", NAMES, Case)
