"""``python -m bench structured``."""

from __future__ import annotations

import click

from bench.measuring import Asked, measuring
from bench.speculation.stage import Stage
from bench.structured import NAMES


@click.command()
@measuring(NAMES, rounds=3, most_rounds=3, attempts=2, buffers="auto")
def structured(asked: Asked) -> None:
    """Schemas: what drafts from them are worth, what masks cost, what everybody else pays."""
    asked.run("bench.structured", NAMES, Stage)
