"""``python -m bench suggeritore``."""

from __future__ import annotations

from pathlib import Path

import click

from bench.speculation.stage import Conditions, Stage
from bench.suggeritore import NAMES
from bench.suite import progress, run

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--model", "models", type=FILE, multiple=True, required=True, help="A GGUF file; repeatable.")
@click.option("--only", "names", type=click.Choice(NAMES), multiple=True, help="Only this one; repeatable.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write all figures here.")
@click.option("--rounds", type=click.IntRange(1, 3), default=3, show_default=True, help="Questions a form.")
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
    default="auto",
    show_default=True,
    help="Weight buffers: plain, or Reame's choice (which takes a while the first time).",
)
@click.option("--quick", is_flag=True, help="An eighth of everything, one round: only shows that it runs.")
def suggeritore(
    models: tuple[Path, ...],
    names: tuple[str, ...],
    json_file: Path | None,
    rounds: int,
    attempts: int,
    buffers: str,
    quick: bool,
) -> None:
    """Drafts from the form of a text: lists, tables, JSON, prose, and a machine whose rows cost nothing."""
    conditions = Conditions(
        rounds=1 if quick else rounds,
        attempts=1 if quick else attempts,
        quick=quick,
        buffers=buffers,
        progress=progress,
    )
    run("bench.suggeritore", names or NAMES, [Stage(model, conditions) for model in models], json_file)
