"""The command line: ``python -m bench core --model PATH``."""

from __future__ import annotations

from pathlib import Path

import click

from bench.arca.command import arca
from bench.case import Case, Options
from bench.conclave.command import conclave
from bench.core import NAMES
from bench.fleet.command import fleet
from bench.speculation.command import speculation
from bench.structured.command import structured
from bench.suggeritore.command import suggeritore
from bench.suite import progress, run
from reame_core.host.cpu import clamp_threads

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def main() -> None:
    """Benchmarks: ratios within one run. Run them from the repository's folder, on an idle machine."""


main.add_command(structured)
main.add_command(conclave)
main.add_command(arca)
main.add_command(fleet)


@main.command()
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
    default="off",
    show_default=True,
    help="Weight buffers of all measurements but `buffers`: plain, or Reame's choice (which takes a while).",
)
@click.option("--llama-server", type=FILE, help="A llama-server to compare `buffers` with.")
@click.option("--quick", is_flag=True, help="An eighth of everything, one round: only shows that it runs.")
def core(
    models: tuple[Path, ...],
    names: tuple[str, ...],
    json_file: Path | None,
    rounds: int,
    attempts: int,
    threads: int | None,
    buffers: str,
    llama_server: Path | None,
    quick: bool,
) -> None:
    """The engine on llama.cpp: its overhead, users at once, stalls, neighbours, buffers, memory."""
    options = Options(
        threads=clamp_threads(threads).threads,
        rounds=rounds,
        attempts=1 if quick else attempts,
        quick=quick,
        buffers=buffers,
        llama_server=llama_server,
        progress=progress,
    )
    run("bench.core", names or NAMES, [Case(model, options) for model in models], json_file)


main.add_command(speculation)
main.add_command(suggeritore)
