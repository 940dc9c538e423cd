"""``python -m bench speculation``."""

from __future__ import annotations

from pathlib import Path

import click

from bench.speculation import NAMES
from bench.speculation.stage import Conditions, Stage
from bench.suite import progress, run

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
WITHOUT_DRAFT_MODEL = NAMES[:-2]


@click.command()
@click.option("--model", "models", type=FILE, multiple=True, required=True, help="A GGUF file; repeatable.")
@click.option("--draft-model", type=FILE, help="A smaller one of the same family, for `draft` and `dear`.")
@click.option("--only", "names", type=click.Choice(NAMES), multiple=True, help="Only this one; repeatable.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write all figures here.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--attempts",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="How often to repeat a run that other processes disturb.",
)
@click.option(
    "--buffers",
    type=click.Choice(["off", "auto"]),
    default="off",
    show_default=True,
    help="Weight buffers: plain, or Reame's choice (which takes a while the first time).",
)
@click.option("--quick", is_flag=True, help="An eighth of everything, one round: only shows that it runs.")
def speculation(
    models: tuple[Path, ...],
    draft_model: Path | None,
    names: tuple[str, ...],
    json_file: Path | None,
    rounds: int,
    attempts: int,
    buffers: str,
    quick: bool,
) -> None:
    """Drafts: repeated, edited and rewritten texts, tickets, creative texts, several users, a draft model."""
    conditions = Conditions(
        rounds=1 if quick else rounds,
        attempts=1 if quick else attempts,
        quick=quick,
        buffers=buffers,
        draft_model=draft_model,
        progress=progress,
    )
    chosen = names or (NAMES if draft_model else WITHOUT_DRAFT_MODEL)
    run("bench.speculation", chosen, [Stage(model, conditions) for model in models], json_file)
