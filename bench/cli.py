"""The command line: ``python -m bench core --model PATH``."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import click

from bench.case import Case, Options
from bench.conclave.command import conclave
from bench.core import NAMES, measure
from bench.host import describe_host
from bench.report import Result, table
from bench.worker import WorkerDied
from reame_core.errors import ReameError
from reame_core.host.cpu import clamp_threads

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def main() -> None:
    """Benchmarks: ratios within one run. Run them from the repository's folder, on an idle machine."""


main.add_command(conclave)


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
    host, command = describe_host(), _command()
    click.echo("\n".join(table([("host", ""), *host.items(), ("command", f"`{command}`")])) + "\n")
    options = Options(
        threads=clamp_threads(threads).threads,
        rounds=rounds,
        attempts=1 if quick else attempts,
        quick=quick,
        buffers=buffers,
        llama_server=llama_server,
        progress=_progress,
    )
    results: list[Result] = []
    failed = False
    for model in models:
        case = Case(model, options)
        for name in names or NAMES:
            _progress(f"{model.stem}: {name}")
            try:
                results.append(measure(name, case))
                click.echo(results[-1].as_text())
            except (ReameError, WorkerDied, RuntimeError) as error:
                failed = True
                click.echo(f"### {name}: {model.stem}\n\nfailed: {error}\n")
        case.close()
    if json_file is not None:
        report = {"host": host, "command": command, "results": [result.as_json() for result in results]}
        json_file.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    if failed:
        raise SystemExit(1)


def _command() -> str:
    """As it was typed, but without the folders of this machine."""
    words = [word if word.startswith("-") else Path(word).name for word in sys.argv[1:]]
    return " ".join(["uv run python -m bench", *words])


def _progress(line: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} {line}", err=True)
