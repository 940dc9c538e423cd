"""``python -m bench suggeritore``."""

from __future__ import annotations

import click

from bench.measuring import Asked, measuring
from bench.speculation.stage import Stage
from bench.suggeritore import NAMES


@click.command()
@measuring(NAMES, rounds=3, most_rounds=3, attempts=2, buffers="auto")
def suggeritore(asked: Asked) -> None:
    """Drafts from the form of a text: lists, tables, JSON, prose, and a machine whose rows cost nothing."""
    asked.run("bench.suggeritore", NAMES, Stage)
