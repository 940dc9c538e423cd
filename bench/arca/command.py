"""``python -m bench arca``."""

from __future__ import annotations

from pathlib import Path

import click

from bench.arca import NAMES
from bench.case import Case, Options
from bench.suite import progress, run
from reame_core.host.cpu import clamp_threads

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--model", "models", type=FILE, multiple=True, required=True, help="A GGUF file; repeatable.")
@click.option("--only", "names", type=click.Choice(NAMES), multiple=True, help="Only this one; repeatable.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write all figures here.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option(
    "--attempts",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="How often to repeat a run that other processes disturb.",
)
@click.option("--threads", type=int, default=None, help="Default: what Reame would use.")
@click.option(
    "--buffers",
    type=click.Choice(["off", "auto"]),
    default="auto",
    show_default=True,
    help="Weight buffers: plain, or Reame's choice as with the default settings (which takes a while).",
)
@click.option("--quick", is_flag=True, help="An eighth of everything, one round: only shows that it runs.")
def arca(
    models: tuple[Path, ...],
    names: tuple[str, ...],
    json_file: Path | None,
    rounds: int,
    attempts: int,
    threads: int | None,
    buffers: str,
    quick: bool,
) -> None:
    """Servers that share a store: warm starts from another's blocks, and what publishing them costs."""
    options = Options(
        threads=clamp_threads(threads).threads,
        rounds=rounds,
        attempts=1 if quick else attempts,
        quick=quick,
        buffers=buffers,
        progress=progress,
    )
    run("bench.arca", names or NAMES, [Case(model, options) for model in models], json_file)
