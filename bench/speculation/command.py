"""``python -m bench speculation``."""

from __future__ import annotations

from pathlib import Path

import click

from bench.measuring import FILE, Asked, measuring
from bench.speculation import NAMES
from bench.speculation.stage import Stage

WITHOUT_DRAFT_MODEL = NAMES[:-2]


@click.command()
@measuring(NAMES, rounds=3, attempts=2)
@click.option("--draft-model", type=FILE, help="A smaller one of the same family, for `draft` and `dear`.")
def speculation(asked: Asked, draft_model: Path | None) -> None:
    """Drafts: repeated, edited and rewritten texts, tickets, creative texts, several users, a draft model."""
    names = NAMES if draft_model else WITHOUT_DRAFT_MODEL
    asked.under(draft_model=draft_model).run("bench.speculation", names, Stage)
